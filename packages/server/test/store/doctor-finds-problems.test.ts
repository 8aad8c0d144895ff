import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { SigningKeyError } from '../../src/accounts/signing-keys.ts';
import { signingKeyHints } from '../../src/cli/failure.ts';
import { describeDatabase, parseConfig } from '../../src/config.ts';
import { type RunOptions, terminal } from '../cli/terminal.ts';

const FREE_PORT = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };

interface Check {
  check: string;
  state: string;
  detail: string;
  fix: string[];
}

type Shell = ReturnType<typeof terminal>;

/** The finding of one check. */
async function finding(shell: Shell, check: string, options: RunOptions = {}) {
  const { code, stdout } = await shell.run('doctor --json', {
    ...options,
    env: { ...FREE_PORT, ...options.env },
  });
  const { ok, checks }: { ok: boolean; checks: Check[] } = JSON.parse(stdout);
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(checks.every(({ state }) => state !== 'failed'));
  for (const { state, fix } of checks) expect(fix.length > 0).toBe(state !== 'ok');
  return checks.find((found) => found.check === check);
}

test('colours are only for terminals, and NO_COLOR turns them off', async () => {
  const { run } = terminal();
  const ESCAPE = '\u001b[';
  expect((await run('doctor', { env: FREE_PORT })).stdout).not.toContain(ESCAPE);
  expect((await run('doctor', { env: FREE_PORT, isTTY: true })).stdout).toContain(`${ESCAPE}32m✓`);
  const plain = await run('doctor', { env: { ...FREE_PORT, NO_COLOR: '1' }, isTTY: true });
  expect(plain.stdout).not.toContain(ESCAPE);
});

test('an invalid configuration ends the checks with every problem', async () => {
  const { run } = terminal();
  const { code, stdout } = await run('doctor', { env: { LEADTAP_PROT: '1', LEADTAP_LOG_LEVEL: 'loud' } });
  expect(code).toBe(2);
  expect(stdout).toContain('✗ configuration: the configuration has 2 problems');
  expect(stdout).toContain('Did you mean LEADTAP_PORT?');
  expect(stdout).not.toContain('database');
});

test.each(['utf16le', 'utf8'] as const)(
  'a .env with a byte order mark in %s is read or refused',
  async (encoding) => {
    const { run, path } = terminal();
    writeFileSync(path('.env'), Buffer.from('\uFEFFLEADTAP_LOG_LEVEL=loud\r\n', encoding));
    const { code, stdout } = await run('doctor');
    expect(code).toBe(2);
    expect(stdout).toContain(
      encoding === 'utf8'
        ? 'LEADTAP_LOG_LEVEL in .env: "loud"'
        : `${path('.env')} is UTF-16: save it as UTF-8`,
    );
  },
);

describe('the signing key', () => {
  test.skipIf(process.platform === 'win32')('a key that others may read', async () => {
    const shell = terminal();
    const env = { LEADTAP_SIGNING_KEY_FILE: 'own.key' };
    shell.save('organisation.json', { companies: [] });
    await shell.run('org apply organisation.json', { env });
    expect(await finding(shell, 'signing key', { env })).toMatchObject({ state: 'ok' });
    const file = shell.path('own.key');
    chmodSync(file, 0o640);
    expect(await finding(shell, 'signing key', { env })).toMatchObject({
      state: 'failed',
      fix: [`Run: chmod 600 ${file}`],
    });
  });

  test('an invalid key, and a key from the environment', async () => {
    const shell = terminal();
    shell.save('data/signing.key', 'short');
    chmodSync(shell.path('data/signing.key'), 0o600);
    const bad = await finding(shell, 'signing key');
    expect(bad).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('at least 32 bytes'),
      fix: [expect.stringContaining('from a backup'), expect.stringContaining('remove the file')],
    });
    const env = { LEADTAP_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64') };
    expect(await finding(shell, 'signing key', { env })).toMatchObject({
      state: 'ok',
      detail: '1 key in LEADTAP_SIGNING_KEY',
    });
  });

  test('a key file that is a folder, or in a path below a file', async () => {
    const shell = terminal();
    shell.save('keys/x', '');
    for (const file of ['keys', 'keys/x/own.key'])
      expect(await finding(shell, 'signing key', { env: { LEADTAP_SIGNING_KEY_FILE: file } })).toMatchObject({
        state: 'failed',
        fix: [`Correct LEADTAP_SIGNING_KEY_FILE: ${shell.path(file)} cannot be a file.`],
      });
  });

  // The tests may run as root, who may read and write everything: so without a real file.
  test.each([
    ['unreadable', 'EACCES', 'Allow this user to read FOLDER/data/signing.key.'],
    ['unwritable', 'EACCES', 'Allow this user to write to FOLDER, or'],
    ['unwritable', 'EROFS', 'Allow this user to write to FOLDER, or'],
    ['unwritable', 'ENOSPC', 'Free some space on the disk of FOLDER.'],
    ['unreadable', 'EISDIR', 'Correct LEADTAP_SIGNING_KEY_FILE'],
  ] as const)('a key file that is %s (%s) in a folder that does not exist: %s', (reason, code, hint) => {
    const folder = tempFolder();
    const cause = Object.assign(new Error(), { code });
    const error = new SigningKeyError(reason, 'it fails', { cause });
    expect(signingKeyHints(error, join(folder, 'data/signing.key'))).toEqual([
      expect.stringContaining(hint.replace('FOLDER', folder)),
    ]);
  });
});

describe('the clock', () => {
  test.each([
    ['before this program was written', Date.UTC(1970, 0, 2), 'failed'],
    ['a year before the key was written', Date.now() - 365 * 86_400_000, 'warning'],
  ])('%s', async (_, now, state) => {
    const shell = terminal();
    shell.save('data/signing.key', '');
    expect(await finding(shell, 'clock', { parts: { clock: () => now } })).toMatchObject({ state });
  });
});

/** Starts a server and returns its port. */
async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

describe('the port', () => {
  test.each([
    ['404', (_request, response) => response.writeHead(404).end()],
    ['a page for every path', (_request, response) => response.end('<!doctype html>')],
  ] satisfies [string, RequestListener][])(
    'in use by another program, which answers %s',
    async (_, answer) => {
      const port = await listening(answer);
      expect(await finding(terminal(), 'port', { env: { LEADTAP_PORT: port } })).toMatchObject({
        state: 'failed',
        detail: `127.0.0.1:${port} is in use by another program`,
      });
    },
  );

  test('in use by a running Leadtap', async () => {
    const { url } = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const { port } = new URL(url);
    expect(await finding(terminal(), 'port', { env: { LEADTAP_PORT: port } })).toMatchObject({
      state: 'ok',
      detail: `127.0.0.1:${port} is in use by a running Leadtap`,
    });
  });

  test('an address of another machine', async () => {
    const env = { LEADTAP_HOST: '192.0.2.1' };
    expect(await finding(terminal(), 'port', { env })).toMatchObject({
      state: 'failed',
      fix: ['Check LEADTAP_HOST.'],
    });
  });
});

describe('the address of the metrics', () => {
  const at = (port: string) => ({ env: { LEADTAP_METRICS_ADDRESS: `127.0.0.1:${port}` } });

  test('free, and off', async () => {
    expect(await finding(terminal(), 'metrics port', at('0'))).toMatchObject({ state: 'ok' });
    expect(await finding(terminal(), 'metrics port')).toMatchObject({
      state: 'ok',
      detail: 'LEADTAP_METRICS_ADDRESS is off',
    });
  });

  test('in use by another program, which has its own metrics', async () => {
    const port = await listening((_request, response) => response.end('process_cpu_seconds_total 1\n'));
    expect(await finding(terminal(), 'metrics port', at(port))).toMatchObject({
      state: 'failed',
      detail: `127.0.0.1:${port} is in use by another program`,
      fix: ['Stop that program, or set LEADTAP_METRICS_ADDRESS.'],
    });
  });

  test('in use by a Leadtap that serves the same database', async () => {
    const { metricsUrl, database } = await startService();
    const { port } = new URL(metricsUrl);
    const env = { ...database.env, ...at(port).env };
    expect(await finding(terminal(), 'metrics port', { env })).toMatchObject({
      state: 'ok',
      detail: `127.0.0.1:${port} is in use by a running Leadtap, which serves this database`,
    });
  });

  test('in use by a Leadtap that serves another database, which is named', async () => {
    const { metricsUrl, database } = await startService();
    const { port } = new URL(metricsUrl);
    const shell = terminal();
    const describe = ({ env }: { env: Record<string, string> }) =>
      describeDatabase(parseConfig({ env, cwd: shell.cwd }).database);
    expect(await finding(shell, 'metrics port', at(port))).toMatchObject({
      state: 'warning',
      detail: `127.0.0.1:${port} is in use by a running Leadtap, which serves another database: ${describe(database)}`,
      fix: [
        expect.stringContaining(`These settings use ${describe(await shell.database())}.`),
        expect.any(String),
      ],
    });
  });
});

describe('the identity provider', () => {
  const EXTERNAL = {
    LEADTAP_JWKS_URL: './jwks.json',
    LEADTAP_TOKEN_ISSUER: 'https://id.example.com/',
    LEADTAP_TOKEN_AUDIENCE: 'leadtap',
  };

  test.each([
    ['{"keys":[{"kty":"RSA"}]}', 'ok'],
    ['{"keys":[]}', 'failed'],
    ['{}', 'failed'],
    ['no JSON', 'failed'],
  ])('a file with %s: %s', async (content, state) => {
    const shell = terminal();
    shell.save('jwks.json', content);
    expect(await finding(shell, 'identity provider', { env: EXTERNAL })).toMatchObject({ state });
  });

  test('a file that is not there', async () => {
    const shell = terminal();
    expect(await finding(shell, 'identity provider', { env: EXTERNAL })).toMatchObject({
      state: 'failed',
      detail: `the JWKS file cannot be read (${shell.path('jwks.json')}, ENOENT)`,
    });
  });

  test('an address that closes the connection is reported with the system code', async () => {
    const port = await listening(({ socket }) => socket.destroy());
    const env = { ...EXTERNAL, LEADTAP_JWKS_URL: `http://127.0.0.1:${port}/jwks.json` };
    expect(await finding(terminal(), 'identity provider', { env })).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(/jwks\.json, (UND_ERR_SOCKET|ECONNRESET)\)$/),
    });
  });

  test('an address that redirects: the server does not follow redirects', async () => {
    const port = await listening(({ url }, response) =>
      url === '/keys'
        ? response.end('{"keys":[{"kty":"RSA"}]}')
        : response.writeHead(302, { location: '/keys' }).end(),
    );
    const env = { ...EXTERNAL, LEADTAP_JWKS_URL: `http://127.0.0.1:${port}/jwks.json` };
    expect(await finding(terminal(), 'identity provider', { env })).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('the identity provider answered 302'),
    });
  });

  test('is not checked if there is none', async () => {
    expect(await finding(terminal(), 'identity provider')).toBeUndefined();
  });
});
