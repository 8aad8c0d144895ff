import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { NO_COMPANY } from '../../src/accounts/no-company.ts';
import { EXIT_CODES, ExitCode } from '../../src/cli/exit.ts';
import { describeDatabase, parseConfig } from '../../src/config.ts';
import { captureStream } from './capture-stream.ts';
import { terminal } from './terminal.ts';

type Shell = ReturnType<typeof terminal>;
type Line = Record<string, unknown>;

const ENV = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const warningsOf = (lines: readonly Line[]) =>
  lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg);

/** The lines that `serve` logs until it is stopped, which is when the line with this message appears. */
async function served(shell: Shell, lastMessage: string, env: Record<string, string> = {}): Promise<Line[]> {
  const stop = new AbortController();
  const stdout = captureStream();
  const write = stdout.write.bind(stdout);
  stdout.write = (chunk: unknown) => {
    if (linesOf(String(chunk)).some(({ msg }) => msg === lastMessage)) stop.abort();
    return write(chunk);
  };
  const parts = { signal: stop.signal, stdout };
  const { code } = await shell.run('serve', { parts, env: { ...ENV, ...env } });
  expect(code).toBe(0);
  return linesOf(stdout.text());
}

test('a start that creates a database and a key warns, and the next start says only that there is no company', async () => {
  const shell = terminal({ empty: true });
  const { env } = await shell.database();
  const database = describeDatabase(parseConfig({ env, cwd: shell.cwd }).database);
  const signingKey = shell.path('data/signing.key');
  const hint = `${NO_COMPANY.message} ${NO_COMPANY.fix}`;
  const first = await served(shell, hint);
  expect(first).toContainEqual(expect.objectContaining({ msg: 'serving new leads', database, signingKey }));
  expect(warningsOf(first)).toEqual([
    expect.stringContaining(`created a new, empty database: ${database}.`),
    expect.stringContaining(`created a new signing key: ${signingKey}.`),
    hint,
  ]);
  expect(warningsOf(await served(shell, hint))).toEqual([hint]);
});

test('a failed start warns about the key that it created', async () => {
  const shell = terminal({ empty: true });
  shell.save('data/no-database', 'x'.repeat(4096));
  const env = { ...ENV, LEADTAP_DATABASE_URL: `sqlite:${shell.path('data/no-database')}` };
  const { code, stdout } = await shell.run('serve', { env });
  expect(code).toBe(1);
  expect(warningsOf(linesOf(stdout))).toEqual([
    expect.stringContaining(`created a new signing key: ${shell.path('data/signing.key')}.`),
  ]);
});

test('a start that fails before it creates anything does not warn', async () => {
  const shell = terminal({ empty: true });
  shell.save('data/signing.key/folder', 'in the place of the key');
  const { code, stdout } = await shell.run('serve', { env: ENV });
  expect(code).toBe(1);
  expect(stdout).toBe('');
});

test('the database, the key and the numbers of companies and users are logged', async () => {
  const shell = terminal();
  shell.save('organisation.json', ORGANISATION);
  await shell.run('org apply organisation.json');
  const env = { LEADTAP_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64') };
  const lines = await served(shell, 'accounts', env);
  expect(lines).toMatchObject([
    { msg: 'serving new leads', signingKey: 'LEADTAP_SIGNING_KEY' },
    { msg: 'accounts', companies: 2, users: 7 },
    { msg: expect.stringContaining('stopping') },
    { msg: 'stopped' },
  ]);
});

test('after SIGTERM it accepts connections for 3 seconds more, also if none is open', async () => {
  const signal = AbortSignal.abort(new ExitCode(EXIT_CODES.terminated));
  const { stdout } = await terminal().run('serve', { parts: { signal }, env: ENV });
  const timeOf = (message: string) =>
    Date.parse(String(linesOf(stdout).find(({ msg }) => String(msg).startsWith(message))?.['time']));
  expect(timeOf('stopped') - timeOf('stopping')).toBeGreaterThan(2_900);
});

test('an address of another machine is reported as such, not as a taken port', async () => {
  const env = { LEADTAP_METRICS_ADDRESS: 'off' };
  const { code, stderr } = await terminal().run('serve --host 192.0.2.1', { env });
  expect(code).toBe(1);
  expect(stderr).toContain('cannot listen on 192.0.2.1:3000: this machine does not have that address');
  expect(stderr).toContain('--host');
  expect(stderr).not.toContain('--port');
});

test('a metrics address that cannot be used is reported with its own variable', async () => {
  const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: '192.0.2.1:9464' };
  const { code, stderr } = await terminal().run('serve', { env });
  expect(code).toBe(1);
  expect(stderr).toContain('LEADTAP_METRICS_ADDRESS');
  expect(stderr).not.toContain('--host');
});
