import { expect, test } from 'vitest';
import { describeDatabase, parseConfig } from '../../src/config.ts';
import { ORGANISATION } from '../harness/organisation.ts';
import { type RunOptions, terminal } from './terminal.ts';

type Shell = ReturnType<typeof terminal>;

/** The lines that `serve` logs when it starts and is stopped at once. */
async function served(shell: Shell, options: RunOptions = {}) {
  const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off', ...options.env };
  const { code, stdout } = await shell.run('serve', { parts: { signal: AbortSignal.abort() }, env });
  expect(code).toBe(0);
  const lines: Record<string, unknown>[] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return {
    facts: lines.find(({ msg }) => msg === 'serving new leads'),
    warnings: lines.filter(({ level }) => level === 40 || level === 'warn').map(({ msg }) => msg),
  };
}

test('a start that makes a database and a key warns of it, and the next one does not', async () => {
  const shell = terminal({ empty: true });
  const { env } = await shell.database();
  const database = describeDatabase(parseConfig({ env, cwd: shell.cwd }).database);
  const first = await served(shell);
  expect(first.facts).toMatchObject({
    database,
    signingKey: shell.path('data/signing.key'),
    companies: 0,
    users: 0,
  });
  expect(first.warnings).toEqual([
    expect.stringContaining(`made a new, empty database: ${database}.`),
    expect.stringContaining(`made a new signing key: ${shell.path('data/signing.key')}.`),
  ]);
  expect((await served(shell)).warnings).toEqual([]);
});

test('the database, the key and the counts of companies and users are logged', async () => {
  const shell = terminal();
  shell.save('organisation.json', ORGANISATION);
  await shell.run('org apply organisation.json');
  const env = { LEADTAP_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64') };
  const { facts, warnings } = await served(shell, { env });
  expect(facts).toMatchObject({ signingKey: 'LEADTAP_SIGNING_KEY', companies: 2, users: 7 });
  expect(warnings).toEqual([]);
});

test('an address of another machine is told as one, not as a matter of the port', async () => {
  const env = { LEADTAP_METRICS_ADDRESS: 'off' };
  const { code, stderr } = await terminal().run('serve --host 192.0.2.1', { env });
  expect(code).toBe(1);
  expect(stderr).toContain('cannot listen on 192.0.2.1:3000: this machine does not have that address');
  expect(stderr).toContain('--host');
  expect(stderr).not.toContain('--port');
});

test('a metrics address that cannot be used is told with its own variable', async () => {
  const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: '192.0.2.1:9464' };
  const { code, stderr } = await terminal().run('serve', { env });
  expect(code).toBe(1);
  expect(stderr).toContain('LEADTAP_METRICS_ADDRESS');
  expect(stderr).not.toContain('--host');
});
