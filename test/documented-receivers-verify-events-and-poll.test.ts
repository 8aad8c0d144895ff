// @nightly and after a change of docs/ examples/ packages/contract/src/ packages/server/src/intake/ packages/server/src/hooks/ packages/server/src/poll/
/** The programs in examples/ that receive webhook events. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import type { SubscribedHook } from '@leadtap/contract';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startService, type TestService } from '../packages/testing/harness/service.ts';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { findOnPath, findProgram } from '../packages/testing/servers/find-program.ts';
import { freePort } from '../packages/testing/servers/free-port.ts';
import { type HandleKind, idsIn, withHandle } from './support/failing-handles.ts';

const example = (file: string): string =>
  readFileSync(new URL(`../examples/${file}`, import.meta.url), 'utf8');

const PYTHON = findProgram({
  name: 'Python 3',
  debian: 'python3',
  homebrew: 'python',
  find: () => findOnPath('python3'),
});

interface Receiver {
  readonly language: string;
  readonly command: string;
  readonly file: string;
  readonly program: string;
  /** The languages of `handle`. */
  readonly handles: readonly HandleKind[];
}

const RECEIVERS: readonly Receiver[] = [
  {
    language: 'Node.js',
    command: process.execPath,
    file: 'receiver.mjs',
    program: example('receiver.mjs'),
    handles: ['sync JavaScript', 'async JavaScript'],
  },
  {
    language: 'Python',
    command: PYTHON,
    file: 'receiver.py',
    program: example('receiver.py'),
    handles: ['sync Python', 'async Python'],
  },
];

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { interval: 20 });
const namesIn = (output: string) => [...output.matchAll(/Z (\w+) Lead/g)].map(([, name]) => name);
const leads = (...names: readonly string[]) =>
  names.map((firstName) => ({ fields: { firstName, lastName: 'Lead' } }));

describe.each(RECEIVERS)('the receiver in $language', ({ command, file, program, handles }) => {
  async function setUp() {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/leadtap`;
    const service = await startService({
      env: { LEADTAP_HOOK_HOSTS: new URL(url).origin },
      limits: { userPolicies: [] },
    });
    await service.add(...leads('Before'));
    return { service, baseUrl: service.url, url, token: await service.token('boss'), folder: tempFolder() };
  }

  function launch({ baseUrl, url, token, folder }: Awaited<ReturnType<typeof setUp>>, source = program) {
    const text = source
      .replace('https://leads.example.com', baseUrl)
      .replace('https://hooks.example.com/leadtap', url)
      .replace('8080', new URL(url).port);
    writeFileSync(join(folder, file), text);
    const env = { PATH: process.env['PATH'], LEADTAP_TOKEN: token };
    const child = spawn(command, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const exit = once(child, 'exit');
    const output = { text: '', errors: '' };
    child.stdout.on('data', (chunk) => {
      output.text += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output.errors += chunk;
    });
    const stop = async () => {
      child.kill('SIGKILL');
      await exit;
    };
    onTestFinished(stop);
    return { output, stop, exit };
  }

  async function run(parts: Awaited<ReturnType<typeof setUp>>, source = program) {
    const { url } = parts;
    const { output, stop } = launch(parts, source);
    // It listens when it has subscribed and polled.
    await until(async () => expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401));
    return { output, stop };
  }

  it('handles each lead as it arrives, once, also those that came while it was off', async () => {
    const parts = await setUp();
    const first = await run(parts);
    await parts.service.add(...leads('One', 'Two'));
    await until(() => expect(namesIn(first.output.text)).toEqual(['One', 'Two']));
    await first.stop();
    const many = Array.from({ length: 130 }, (_, index) => `N${index}`);
    await parts.service.add(...leads(...many));
    const second = await run(parts);
    await until(() => expect(namesIn(second.output.text)).toEqual(many));
    expect(
      [first.output.errors, second.output.errors.replace(/^127\.0\.0\.1 .*\n/gm, '')].join(''),
    ).not.toMatch(/error|traceback/i);
  });

  it('accepts what Standard Webhooks has signed just now, and nothing else', async () => {
    const parts = await setUp();
    const { output } = await run(parts);
    const { secret } = await subscribe(parts.service, parts.token, parts.url);
    const post = (body: string, headers: Record<string, string>) =>
      fetch(parts.url, { method: 'POST', body, headers }).then(({ status }) => status);
    const sign = (body: string, { at = new Date(), key = secret } = {}) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(key).sign('msg_1', at, body),
    });
    const signed = sign('{"a":"é"}');
    expect(await post('{"a":"é"}', signed)).toBe(204);
    const several = { ...signed, 'webhook-signature': `v1,AAAA ${signed['webhook-signature']}` };
    expect(await post('{"a":"é"}', several)).toBe(204);
    expect(await post('{"a":"e"}', signed)).toBe(401);
    expect(await post('{}', { ...sign('{}'), 'webhook-id': 'msg_2' })).toBe(401);
    expect(await post('{}', sign('{}', { at: new Date(Date.now() - 3_600_000) }))).toBe(401);
    const other = `whsec_${Buffer.alloc(32).toString('base64')}`;
    expect(await post('{}', sign('{}', { key: other }))).toBe(401);
    const long = 'x'.repeat(100_000);
    expect(await post(long, sign(long)).catch(() => 0)).not.toBe(204);
    await parts.service.add(...leads('One'));
    await until(() => expect(namesIn(output.text)).toEqual(['One']));
  });

  const IDS = Array.from({ length: 500 }, (_, index) => ({ id: `lead-${index}` }));
  const handledIn = (folder: string) => idsIn(readFileSync(join(folder, 'handled.txt'), 'utf8'));

  it.each(handles)(
    'refuses the event if a slow %s `handle` fails, tries again by itself, and handles each lead once',
    async (handle) => {
      const parts = await setUp();
      const { output } = await run(parts, withHandle(handle)(program));
      await parts.service.add(...IDS);
      const { id } = await subscribe(parts.service, parts.token, parts.url);
      await until(async () =>
        expect(await parts.service.store.hooks.find(id)).toMatchObject({ failures: 1, lastStatus: 500 }),
      );
      // No further event comes.
      await fetch(`${parts.baseUrl}/automation/hooks/${id}`, { method: 'DELETE' });
      await until(() => expect(handledIn(parts.folder)).toEqual(IDS.map(({ id }) => id)));
      expect(output.errors).toContain(handle === 'async JavaScript' ? 'null' : 'full');
    },
  );

  it.each(handles)('goes on if a %s `handle` fails when it starts', async (handle) => {
    const parts = await setUp();
    const first = await run(parts);
    await first.stop();
    await parts.service.add(...IDS);
    await run(parts, withHandle(handle)(program));
    await until(() => expect(handledIn(parts.folder)).toEqual(IDS.map(({ id }) => id)));
  });

  it('tries again if Leadtap does not answer when it starts, and refuses the event if it does not later', async () => {
    const parts = await setUp();
    const relay = await startRelay(parts.service);
    relay.faults.push(reset, sendNonsense);
    const { output } = await run({ ...parts, baseUrl: relay.url });
    expect(relay.faults).toEqual([]);
    expect(output.errors).not.toMatch(/traceback|fetch failed/i);
    const { id } = await subscribe(parts.service, parts.token, parts.url);
    relay.cut();
    relay.faults.push(sendNonsense);
    await parts.service.add(...leads('One'));
    await until(async () =>
      expect(await parts.service.store.hooks.find(id)).toMatchObject({ failures: 1, lastStatus: 500 }),
    );
  });

  it('ends with the problem if the token is wrong', async () => {
    const { output, exit } = launch({ ...(await setUp()), token: 'made-up' });
    expect(await exit).toEqual([1, null]);
    expect(output.errors).toContain('"code":"token-invalid"');
  });
});

/** The subscription that the program has: the same URL of the same token. */
async function subscribe({ url: baseUrl }: TestService, token: string, url: string): Promise<SubscribedHook> {
  const response = await fetch(`${baseUrl}/automation/hooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as SubscribedHook;
}

const reset = (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy());
const sendNonsense = (socket: Socket) => void socket.end('nonsense\r\n\r\n');

/** In front of the service. A connection gets the next fault, if there is one. */
async function startRelay({ url }: TestService) {
  const faults: ((socket: Socket) => void)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const fault = faults.shift();
    if (fault) return fault(socket);
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    for (const one of [socket, upstream]) sockets.add(one.on('error', () => undefined));
    socket.pipe(upstream).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return { faults, cut, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
