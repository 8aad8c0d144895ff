import { Writable } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addCommand } from '../../src/cli/command.ts';
import type { CommandContext } from '../../src/cli/context.ts';
import { captureStream } from './capture-stream.ts';
import { terminal, terminalWithUsers } from './terminal.ts';

describe('help and version', () => {
  test.each(['--help', 'help', 'help token', 'user set --help', '--version'])('%s', async (command) => {
    const { run } = terminal();
    expect(await run(command)).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/\S/) });
  });

  test('--version prints the version of the package', async () => {
    expect((await terminal().run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('a command without examples shows its help', () => {
    const program = new Command().configureOutput({ writeOut: (text) => shown.push(text) });
    const shown: string[] = [];
    const spec = { name: 'count', description: 'Count.', help: '\nIt counts.', run: async () => {} };
    addCommand(program, {} as CommandContext, spec);
    program.commands[0]?.outputHelp();
    expect(shown.join('')).toMatch(/\n\nIt counts\.\n$/);
  });

  test('is 80 columns wide on a terminal without a width', async () => {
    const help = async (columns: number) => {
      const stdout = Object.assign(captureStream(true), { columns });
      await terminal().run('--help', { parts: { stdout } });
      return stdout.text();
    };
    expect(await help(0)).toBe(await help(80));
    expect(await help(120)).not.toBe(await help(80));
  });

  test('without a command the help is shown, and the exit code is 2', async () => {
    const { code, stdout, stderr } = await terminal().run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: leadtap');
  });
});

test.each([
  ['user lits', 'Did you mean list?'],
  ['tokn issue', "unknown command 'tokn'"],
  ['help tokn', 'there is no command tokn'],
  ['help token isue', 'there is no command token isue'],
  ['user list --jsn', 'Did you mean --json?'],
  ['user list extra', 'too many arguments'],
  ['user set', "missing required argument 'id'"],
  ['token list', "required option '--user <id>' not specified"],
])('%s: an error in the command line is 2', async (command, message) => {
  const { code, stdout, stderr } = await terminal().run(command);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^leadtap: /);
  expect(stderr).toContain(message);
  expect(stderr).toContain('--help');
});

test('every problem of the configuration is reported at once, also those of .env', async () => {
  const { run, save } = terminal();
  save('.env', 'LEADTAP_PORT=x\n');
  const { code, stdout, stderr } = await run('user list', { env: { LEADTAP_HOTS: 'y' } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(
    [
      'leadtap: the configuration has 2 problems',
      '  LEADTAP_HOTS: there is no such variable. Did you mean LEADTAP_HOST?',
      '  LEADTAP_PORT in .env: "x" is not a port. Write a whole number from 0 to 65535. 0 means any free port.',
      '',
    ].join('\n'),
  );
});

test('a .env that cannot be read is reported', async () => {
  const { run, save } = terminal();
  save('.env/file', '');
  expect(await run('user list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('.env cannot be read (EISDIR)'),
  });
});

describe('a bug in Leadtap', () => {
  const broken = {
    clock: () => {
      throw new Error('the clock is broken');
    },
  };

  test('is one line, without a stack', async () => {
    const { run } = await terminalWithUsers();
    const { code, stdout, stderr } = await run('token issue --user boss', { parts: broken });
    expect({ code, stdout }).toEqual({ code: 70, stdout: '' });
    expect(stderr).toContain('leadtap: unexpected error: the clock is broken\n');
    expect(stderr).toContain('This is a bug.');
    expect(stderr).not.toContain('    at ');
  });

  test('has a stack with LEADTAP_LOG_LEVEL=debug', async () => {
    const { run } = await terminalWithUsers();
    const env = { LEADTAP_LOG_LEVEL: 'debug' };
    const { code, stderr } = await run('token issue --user boss', { parts: broken, env });
    expect(code).toBe(70);
    expect(stderr).toContain('    at ');
  });
});

test.each(['user list', 'user list --json', 'doctor', 'org apply organisation.json'])(
  '%s: ends without a message if its output is closed',
  async (command) => {
    const { run } = await terminalWithUsers();
    const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(closed) });
    stdout.on('error', () => undefined);
    expect(await run(command, { parts: { stdout } })).toMatchObject({ code: 141, stderr: '' });
  },
);
