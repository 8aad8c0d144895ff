import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { issueToken, loadSigningKeys } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase, type TestDatabase } from '../../../testing/harness/database.ts';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { terminal } from '../cli/terminal.ts';
import { connectRaw, refused, requestHead } from './raw-connection.ts';

/** An open connection would delay the shutdown by 3 s. */
const CLOSE = { headers: { connection: 'close' } };
const ANYWHERE = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: '127.0.0.1:0' };

/** Starts `leadtap serve` as a process and waits until it serves. */
async function serve(env: Record<string, string> = {}) {
  const folder = tempFolder();
  const data = join(folder, 'data');
  const database = await makeTestDatabase(onTestFinished, { folder: data });
  const leadtap = spawnLeadtap(['serve'], { ...ANYWHERE, ...database.env, ...env }, folder);
  for (;;) {
    const { value, done } = await leadtap.lines.next();
    if (done) throw new Error(`it ended: ${(await leadtap.ended).stderr}`);
    const line: { msg: string; url: string; metricsUrl?: string } = JSON.parse(value);
    if (line.msg === 'serving new leads') return { ...leadtap, ...line, data, database };
  }
}

/** Adds users to the database of a running service and returns a token of one of them. */
async function enrol(database: TestDatabase, data: string): Promise<string> {
  const store = await database.openStore();
  await store.applyOrganisation(ORGANISATION);
  await store.close();
  const keys = await loadSigningKeys({ file: join(data, 'signing.key') });
  const now = Date.now();
  return issueToken(keys, { userId: 'boss', tokenId: 'a', issuedAt: now, expiresAt: now + 3_600_000 });
}

async function takePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('leadtap serve', () => {
  it('logs its URL, exits with 0 on SIGTERM, and leaves only database and key', async () => {
    const { child, url, metricsUrl = '', ended, data } = await serve({ LEADTAP_BASE_PATH: '/api' });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api$/);
    expect((await fetch(`${url}/readyz`, CLOSE)).status).toBe(200);
    expect((await fetch(metricsUrl)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(readdirSync(data).filter((name) => name !== 'leadtap.db')).toEqual(['signing.key']);
  });

  it('finishes a running poll before it stops', async () => {
    const { child, url, ended, data, database } = await serve();
    const token = await enrol(database, data);
    const release = await database.holdLock('acme');
    const { socket, received } = await connectRaw(url);
    socket.write(requestHead(url, token));
    // Its response follows the start of the poll's wait for the lock.
    await fetch(`${url}/livez`, CLOSE);
    child.kill('SIGTERM');
    await refused(url);
    await release();
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  /** A connection that delays the shutdown. */
  async function holdConnection(url: string): Promise<Socket> {
    const { socket } = await connectRaw(url);
    const answered = once(socket, 'data');
    socket.write('GET /livez HTTP/1.1\r\nHost: leads\r\n\r\n');
    await answered;
    // Half a request, so that the connection is not idle.
    socket.write('GET / HTTP/1.1\r\n');
    return socket;
  }

  it('stops gracefully if npm forwards the SIGINT of the terminal', async () => {
    // Its clock stands still, so that both signals come within a second, however slow the machine is.
    const stopClock = 'data:text/javascript,performance.now=()=>0';
    const { child, url, lines, ended } = await serve({ NODE_OPTIONS: `--import=${stopClock}` });
    const socket = await holdConnection(url);
    child.kill('SIGINT');
    await lines.next();
    child.kill('SIGINT');
    await refused(url);
    socket.destroy();
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it('exits at once on a second signal a second later', async () => {
    const { child, url, ended } = await serve();
    await holdConnection(url);
    const repeat = setInterval(() => child.kill('SIGTERM'), 100);
    onTestFinished(() => clearInterval(repeat));
    expect(await ended).toMatchObject({ code: 143 });
  });

  it('stops gracefully if the terminal is closed', async () => {
    const { child, ended } = await serve();
    child.kill('SIGHUP');
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it('reports a port that is in use', async () => {
    const port = await takePort();
    const env = { LEADTAP_METRICS_ADDRESS: 'off' };
    const { code, stderr } = await terminal().run(`serve --port ${port}`, { env });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: another program listens there`);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('names the main port, not that of the metrics, if it runs already', async () => {
    const port = await takePort();
    const metrics = await takePort();
    const env = { LEADTAP_METRICS_ADDRESS: `127.0.0.1:${metrics}` };
    const { code, stderr } = await terminal().run(`serve --port ${port}`, { env });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: another program listens there`);
    expect(stderr).toContain('If Leadtap is already running, use that instance, or stop it first.');
  });

  it('reports a metrics address that is in use', async () => {
    const port = await takePort();
    const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: `127.0.0.1:${port}` };
    const { code, stderr } = await terminal().run('serve', { env });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}`);
  });

  it('lists all configuration errors at once, and does not start', async () => {
    const env = {
      LEADTAP_DATABASE_URL: 'mysql://root:hunter2@db/leads',
      LEADTAP_LOG_LEVEL: 'loud',
      LEADTAP_BASE_PATHS: '/api',
      LEADTAP_TOKEN_ISSUER: 'https://id.example.com/',
    };
    const { code, stdout, stderr } = await terminal().run('serve --port many', { env });
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('leadtap: the configuration has 5 problems');
    for (const name of ['--port', 'LEADTAP_DATABASE_URL', 'LEADTAP_LOG_LEVEL', 'LEADTAP_BASE_PATHS'])
      expect(stderr).toContain(name);
    expect(stderr).toContain('LEADTAP_TOKEN_ISSUER');
    expect(stderr).not.toContain('hunter2');
  });
});
