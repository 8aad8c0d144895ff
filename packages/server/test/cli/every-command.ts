/** The commands of the program, for tests about all of them. */
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/main.ts';
import { captureStream } from './capture-stream.ts';

const program = await buildProgram({
  env: {},
  cwd: '/',
  stdin: Readable.from([]),
  stdout: captureStream(),
  stderr: captureStream(),
  clock: () => 0,
  signal: new AbortController().signal,
});

export interface NamedCommand {
  /** Such as `token issue`. */
  readonly name: string;
  readonly command: Command;
}

/** `connections` lists them, and has commands below it. */
const isGroup = ({ commands, options }: Command): boolean => commands.length > 0 && options.length === 0;

const commandsOf = (parent: Command, names: readonly string[] = []): NamedCommand[] =>
  parent.commands.flatMap((command) => {
    const path = [...names, command.name()];
    const own = isGroup(command) ? [] : [{ name: path.join(' '), command }];
    return [...own, ...commandsOf(command, path)];
  });

/** All commands, without groups such as `token`. */
export const COMMANDS: readonly NamedCommand[] = commandsOf(program);

/** What a command needs to be complete. A command that needs nothing is not here. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  open: '--user boss',
  'org apply': 'organisation.json',
  'user add': 'ada --company acme --plan BASIC --access-level COMPANY',
  'user set': 'boss --plan BASIC',
  'user remove': 'boss',
  'token issue': '--user boss',
  'token list': '--user boss',
  'token renew': 'CRM',
  'token revoke': '5b1f0c5e',
  'connections log': 'Zapier',
  'connections rename': 'Zapier CRM',
  'connections send': 'Zapier --missed',
  'connections pause': 'Zapier',
  'connections resume': 'Zapier',
  'connections handled': 'Zapier',
  'connections end': 'Zapier',
  'hooks add': '--user boss --url https://hooks.zapier.com/hooks/catch/1/a',
  'hooks rename': '8c1f0a62d94e4b7f9d3a5e60c27b1f48 Sales',
  'hooks remove': '8c1f0a62d94e4b7f9d3a5e60c27b1f48',
  'hooks send-test': '8c1f0a62d94e4b7f9d3a5e60c27b1f48',
  'leads import': '-',
  'leads show': '4711',
  'leads send-test': '--company acme',
  'leads erase': '4711 --yes',
  'leads prune': '--older-than 400d --yes',
  'leads refused show': '01994c2e',
  'leads refused accept': '01994c2e',
  'leads refused delete': '01994c2e',
  backup: 'copy.db',
  alert: '--test',
};

/** A command line that is complete, such as `token issue --user boss`. A new command may need an entry in `ARGUMENTS`. */
export const lineOf = ({ name }: NamedCommand): string =>
  name in ARGUMENTS ? `${name} ${ARGUMENTS[name]}` : name;
