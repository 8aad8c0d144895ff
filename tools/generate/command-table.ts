import process from 'node:process';
import { table } from './field-tables.ts';

type Commands = typeof import('../../packages/server/src/cli/main.ts');
type Command = Awaited<ReturnType<Commands['buildProgram']>>;

/** All commands below this one, without groups such as `token`. */
const commandsOf = (parent: Command, path: string): (readonly [string, Command])[] =>
  parent.commands.flatMap((command) => {
    const name = `${path} ${command.name()}`;
    const isGroup = command.commands.length > 0 && command.options.length === 0;
    return [...(isGroup ? [] : [[name, command] as const]), ...commandsOf(command, name)];
  });

/** For docs/command-line.md: what `--help` says of each command. */
export async function commandTable(root: URL): Promise<string> {
  const { buildProgram }: Commands = await import(new URL('packages/server/dist/cli/main.js', root).href);
  const program = await buildProgram({
    env: {},
    cwd: '/',
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    clock: () => 0,
    signal: new AbortController().signal,
  });
  return table(
    ['command', 'does'],
    commandsOf(program, 'leadtap').map(([name, command]) => [
      `\`${name}\``,
      command.summary() || command.description(),
    ]),
  );
}
