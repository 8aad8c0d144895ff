/** The examples of every command, as a person runs them after `org apply examples/organisation.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { expect, inject, test } from 'vitest';
import { buildProgram } from '../../src/cli/main.ts';
import { captureStream } from './capture-stream.ts';
import { terminal } from './terminal.ts';

/** Why an example is not run. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/leadtap (serve|demo)\b/, 'does not end'],
  [/postgres:\/\/|leadtap alert/, 'needs a server'],
  [/token (renew|revoke)|hooks (rename|remove|send-test)/, 'the id is made up'],
  [/connections (log|rename|send|pause|resume|handled|end)|--owed CRM/, 'the name is made up'],
  [/leads refused (show|.*--connection)/, 'the request is made up'],
  [/leads (erase|prune) (?!.*--(yes|dry-run))/, 'asks a person'],
  ...(inject('store') === 'postgres' ? ([[/leadtap backup/, 'copies SQLite files']] as const) : []),
];

const readExample = (name: string) =>
  readFileSync(new URL(`../../../../examples/${name}`, import.meta.url), 'utf8');
const ORGANISATION = readExample('organisation.json');
const CSV = readExample('leads.csv');

/** What the programs before a pipe print. */
const PRINTED: Readonly<Record<string, string>> = { 'make-organisation': ORGANISATION, 'export-leads': CSV };

/** The commands that have actions, with the examples in their help. */
async function collectExamples(): Promise<{ name: string; examples: string[] }[]> {
  const stdout = captureStream();
  const nothing = { env: {}, cwd: '/', stdin: Readable.from([]), stderr: captureStream() };
  const signal = new AbortController().signal;
  const leaves = (command: Command): Command[] => [
    ...(command.commands.length > 0 && command.options.length === 0 ? [] : [command]),
    ...command.commands.flatMap(leaves),
  ];
  const program = await buildProgram({ ...nothing, stdout, clock: Date.now, signal });
  return program.commands.flatMap(leaves).map((command) => {
    const start = stdout.text().length;
    command.outputHelp();
    const [, text = ''] = stdout
      .text()
      .slice(start)
      .split(/^Examples?:\n/m);
    const lines = text.replaceAll(/ \\\n +/g, ' ').split('\n');
    const examples = lines.flatMap((line) => {
      // `0 3 * * *  leadtap …` is a line of a crontab; a text after two spaces explains the example.
      const [, example] = /^ {2}(?:[\d* ]+ {2})?(\S.*?)(?: {2}.*)?$/.exec(line) ?? [];
      return example?.includes('leadtap ') ? [example] : [];
    });
    return { name: `${command.parent?.name()} ${command.name()}`, examples };
  });
}

const COMMANDS = await collectExamples();

/** The arguments of `leadtap` in an example, and what the program before it prints. */
function parseExample(example: string): { argv: string[]; stdin: string } {
  const parts = example.split(' | ');
  const index = parts.findIndex((part) => part.startsWith('leadtap '));
  const [command = ''] = (parts[index] ?? '').split(/ >| \|\|/);
  const argv = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  return { argv: argv.slice(1), stdin: PRINTED[parts[index - 1] ?? ''] ?? '' };
}

test('every command has one, except demo', () => {
  const without = COMMANDS.filter(({ examples }) => examples.length === 0);
  expect(without.map(({ name }) => name)).toEqual(['leadtap demo']);
});

test.each(COMMANDS.filter(({ examples }) => examples.length > 0))('$name', async ({ name, examples }) => {
  const { run, save, path } = terminal();
  const lead = (id: string) => JSON.stringify({ companyId: 'soleil', id, email: 'ada@example.com' });
  const old = { companyId: 'soleil', id: '1', email: 'bo@example.com', createdAt: '2020-01-01T00:00:00Z' };
  save('organisation.json', ORGANISATION);
  // An export replaces no file.
  if (name !== 'leads export') save('leads.csv', CSV);
  save('leads.ndjson', `${lead('4711')}\n${lead('4712')}\n`);
  save('contacts.csv', 'Vorname,Notiz,Alt\nZoë,ruft zurück,x\n');
  save('termine.csv', 'companyId,id,firstName,appointmentDateTime\nsoleil,9,Ada,02.03.2026 09:30\n');
  writeFileSync(path('archive.ndjson.gz'), gzipSync(`${JSON.stringify(old)}\n`));
  await run('org apply organisation.json');
  await run('leads import leads.ndjson');
  for (const example of examples) {
    if (NOT_RUN.some(([pattern]) => pattern.test(example))) continue;
    const { argv, stdin } = parseExample(example);
    expect(await run(argv, { stdin }), example).toMatchObject({ code: 0 });
  }
});
