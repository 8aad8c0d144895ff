// @nightly and after a change of docs/ examples/ packages/contract/src/ packages/server/src/intake/ packages/server/src/hooks/ packages/server/src/poll/
/**
 * Every example of docs/getting-leads-in.md, and every file that it links to, against a running service. Those that need
 * PostgreSQL are in packages/server/test/store/postgres/getting-leads-in-is-executed.test.ts.
 */
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Lead } from '@leadtap/contract';
import { type INode, Workflow } from 'n8n-workflow';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runLeadtap } from '../packages/testing/harness/leadtap-process.ts';
import { keyFileOf, type TestService } from '../packages/testing/harness/service.ts';
import { shareService } from '../packages/testing/harness/shared-service.ts';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { FAULTS, layRoad } from '../packages/testing/pollers/fault-proxy.ts';
import { freePort } from '../packages/testing/servers/free-port.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/getting-leads-in.md'), 'utf8');
const organisation = JSON.parse(readFileSync(join(ROOT, 'examples/organisation.json'), 'utf8'));

/** The block of that language in the section with that title; the first one, if there are several. */
function block(title: string, language: string, number = 0): string {
  const [, section = ''] = page.split(`\n## ${title}\n`);
  const [text = ''] = section.split('\n## ');
  const blocks = [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)^\`\`\``, 'gm'))];
  const found = blocks[number]?.[1];
  if (found === undefined) throw new Error(`${title} has no ${language} block ${number}`);
  return found;
}

const example = (file: string): string => readFileSync(join(ROOT, 'examples', file), 'utf8');

interface Installation {
  readonly service: TestService;
  /** That of the command in the document. */
  readonly token: string;
  /** The settings of commands on the machine of the service. */
  readonly env: Record<string, string>;
  /** The leads of this test, oldest first. */
  polled(): Promise<Lead[]>;
}

const shared = shareService({ organisation });
let issued: Promise<string> | undefined;

async function issueToken(env: Record<string, string>): Promise<string> {
  const [, command = ''] = /^(?:export )?WRITE_TOKEN=\$\((.*)\)$/m.exec(block('Over HTTP', 'sh')) ?? [];
  const words = command.match(/"[^"]*"|\S+/g) ?? [];
  const [npx, leadtap, ...argv] = words.map((word) => word.replaceAll('"', ''));
  expect([npx, leadtap]).toEqual(['npx', 'leadtap']);
  const { code, stdout, stderr } = await runLeadtap(argv, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

/** All tests share one service. */
async function install(): Promise<Installation> {
  const service = shared();
  const env = { ...service.database.env, LEADTAP_SIGNING_KEY_FILE: keyFileOf(service) };
  issued ??= issueToken(env);
  const [newest] = await service.leads('ada', 'limit=1');
  const since = newest?.createdAt ?? '1970-01-01';
  return { service, token: await issued, env, polled: () => service.leads('ada', `since=${since}`) };
}

const runShell = (script: string, env: Record<string, string>) =>
  promisify(execFile)('sh', ['-c', script], { env: { PATH: process.env['PATH'] ?? '', ...env } });

/** A program of the document in a folder of its own, in which the client is installed. It ends with the test. */
async function startProgram(name: string, files: Record<string, string>, env: Record<string, string>) {
  const folder = tempFolder();
  mkdirSync(join(folder, 'node_modules/@leadtap'), { recursive: true });
  symlinkSync(join(ROOT, 'packages/client'), join(folder, 'node_modules/@leadtap/client'), 'junction');
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const port = await freePort();
  const child = spawn(process.execPath, [name], {
    cwd: folder,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const url = `http://127.0.0.1:${port}`;
  const ended = closed.then(() => Promise.reject(new Error(`${name} ended: ${stderr}`)));
  ended.catch(() => undefined);
  await Promise.race([vi.waitFor(() => fetch(url)), ended]);
  return { url, stderr: () => stderr };
}

it('with curl, and the response is that of the document', async () => {
  const { service, token, polled } = await install();
  const script = block('Over HTTP', 'sh', 1);
  const { stdout } = await runShell(script, { LEADTAP_URL: service.url, WRITE_TOKEN: token });
  const [lead] = await polled();
  expect(lead).toMatchObject({ id: 'web-1', fullName: 'Ada Moreau', email: 'ada@example.com' });
  const shown = JSON.parse(block('Over HTTP', 'json'));
  shown.leads[0].createdAt = lead?.createdAt;
  expect(JSON.parse(stdout)).toEqual(shown);
});

/** A receiver that gets its answers through a proxy that injects one fault after the other. Senders repeat what failed. */
async function sendThroughFaults(
  service: TestService,
  start: (url: string) => Promise<{ readonly url: string }>,
  send: (url: string, number: number) => Promise<number>,
): Promise<void> {
  const road = await layRoad(onTestFinished);
  road.target = service.url;
  const { url } = await start(road.url);
  for (const [number, fault] of FAULTS.entries()) {
    const left = [fault];
    road.fateOf = () => left.shift() ?? 'arrives';
    for (let status = 0; status !== 200; status = await send(url, number));
    expect(left).toEqual([]);
  }
}

describe('from a web form', () => {
  const start = ({ service, token }: Installation, leadtapUrl = service.url) =>
    startProgram(
      'form-handler.mjs',
      { 'form.html': example('form/form.html'), 'form-handler.mjs': example('form/form-handler.mjs') },
      { LEADTAP_URL: leadtapUrl, WRITE_TOKEN: token },
    );

  /** What a browser sends: all fields of the form, also those that were left empty. */
  async function fillIn(url: string, values: Record<string, string>): Promise<URLSearchParams> {
    const html = await (await fetch(url)).text();
    const fields = [...html.matchAll(/<(?:input|textarea)[^>]*\bname="(\w+)"(?:[^>]*\bvalue="([^"]*)")?/g)];
    const pairs = fields.map(([, name = '', value = '']): [string, string] => [name, values[name] ?? value]);
    return new URLSearchParams(pairs);
  }

  const post = async (url: string, body: URLSearchParams) => {
    const response = await fetch(url, { method: 'POST', body });
    return { status: response.status, text: await response.text() };
  };

  const ADA = {
    firstName: 'Ada',
    lastName: 'Moreau',
    email: 'ada@example.com',
    message: 'A "new" roof & more',
  };

  const THANK_YOU = expect.stringMatching(
    /^<!doctype html>\s*<html lang="en">[\s\S]*<title>Thank you<\/title>\s*<p>Thank you\. We will call you\./,
  );

  it('of this machine alone: a web server passes on the requests of visitors', async () => {
    const { url } = await start(await install());
    // Another address of this machine.
    await expect(fetch(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow();
  });

  it('once, however often it is sent', async () => {
    const installation = await install();
    const { url } = await start(installation);
    const form = await fillIn(url, ADA);
    for (let times = 0; times < 3; times += 1)
      expect(await post(url, form)).toEqual({ status: 200, text: THANK_YOU });
    expect(await installation.polled()).toMatchObject([
      {
        firstName: 'Ada',
        lastName: 'Moreau',
        email: 'ada@example.com',
        phone1: null,
        customFields: { source: 'web form', message: 'A "new" roof & more' },
      },
    ]);
    // Another visitor.
    await post(url, await fillIn(url, { ...ADA, firstName: 'Grace' }));
    expect((await installation.polled()).map(({ firstName }) => firstName)).toEqual(['Ada', 'Grace']);
  });

  it('each lead once, whatever happens to an answer', async () => {
    const installation = await install();
    const forms: URLSearchParams[] = [];
    await sendThroughFaults(
      installation.service,
      (url) => start(installation, url),
      async (url, number) => {
        forms[number] ??= await fillIn(url, { ...ADA, firstName: `Ada ${number}` });
        return (await post(url, forms[number])).status;
      },
    );
    const expected = FAULTS.map((_, number) => `Ada ${number}`);
    expect((await installation.polled()).map(({ firstName }) => firstName)).toEqual(expected);
  });

  it('without fields that the form does not have', async () => {
    const installation = await install();
    const [lead] = await installation.service.add({ companyId: 'soleil', id: 'known' });
    const { url } = await start(installation);
    const form = await fillIn(url, ADA);
    form.set('id', 'known');
    form.set('statusValue', 'WON');
    expect((await post(url, form)).status).toBe(200);
    const [known, added] = await installation.polled();
    expect(known).toMatchObject({
      id: 'known',
      firstName: null,
      createdAt: new Date(lead ?? 0).toISOString(),
    });
    expect(added).toMatchObject({ firstName: 'Ada', statusValue: 'NEW' });
  });

  it('only with a name and a way to reach the person', async () => {
    const installation = await install();
    const { url } = await start(installation);
    for (const missing of [
      { firstName: '', lastName: ' ' },
      { email: '' },
      { message: 'x'.repeat(10), email: ' ' },
    ]) {
      const { status, text } = await post(url, await fillIn(url, { ...ADA, ...missing }));
      expect(status).toBe(422);
      expect(text).toContain('give your name and an e-mail address or a phone number');
    }
    expect(await installation.polled()).toEqual([]);
  });

  it('and says so if it was not stored', async () => {
    const installation = await install();
    const { url, stderr } = await start(installation);
    const { status, text } = await post(url, await fillIn(url, { ...ADA, email: 'ada' }));
    expect(status).toBe(422);
    expect(text).toMatch(
      /<html lang="en">[\s\S]*<title>Not sent<\/title>\s*<p>Your message could not be sent/,
    );
    expect(stderr()).toContain('invalid-lead');
    const huge = await fillIn(url, { ...ADA, message: 'x'.repeat(60_000) });
    expect((await post(url, huge)).status).toBe(413);
    expect(await installation.polled()).toEqual([]);
  });
});

const TO_LEAD = 'const toLead = (';
/** One that people have changed: it asks another service, which fails once for each lead. */
const ASYNC_TO_LEAD = `const asked = new Set();
const toLead = async (webhook) => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  if (asked.size !== asked.add(webhook.event.id).size) throw new Error('unavailable');
  return toLeadAtOnce(webhook);
};
const toLeadAtOnce = (`;

it.each([
  ['sync', TO_LEAD],
  ['async', ASYNC_TO_LEAD],
])('from a webhook, each lead once, whatever happens to an answer, if toLead is %s', async (_, toLead) => {
  const { service, token, polled } = await install();
  const program = example('webhook-to-leadtap.mjs');
  expect(program).toContain(TO_LEAD);
  await sendThroughFaults(
    service,
    (url) =>
      startProgram(
        'receiver.mjs',
        { 'receiver.mjs': program.replace(TO_LEAD, toLead) },
        { LEADTAP_URL: url, WRITE_TOKEN: token, WEBHOOK_SECRET: 'secret' },
      ),
    async (url, number) => {
      const body = JSON.stringify({
        event: { id: `${toLead.length}-${number}` },
        contact: { name: 'Ada', email: 'ada@example.com' },
      });
      const signature = createHmac('sha256', 'secret').update(body).digest('hex');
      const { status } = await fetch(url, { method: 'POST', body, headers: { 'x-signature': signature } });
      // Senders repeat after a 503. They drop what gets a 422.
      expect([200, 503]).toContain(status);
      return status;
    },
  );
  const expected = FAULTS.map((_, number) => `shop-${toLead.length}-${number}`);
  expect((await polled()).map(({ id }) => id)).toEqual(expected);
});

it('from a webhook, once, and only with its signature', async () => {
  const installation = await install();
  const { url, stderr } = await startProgram(
    'receiver.mjs',
    { 'receiver.mjs': example('webhook-to-leadtap.mjs') },
    { LEADTAP_URL: installation.service.url, WRITE_TOKEN: installation.token, WEBHOOK_SECRET: 'secret' },
  );
  const contact = { name: 'Ada Moreau', email: 'ada@example.com', phone: '+33 1 70 18 99 00' };
  const webhookOf = (email: string) => JSON.stringify({ event: { id: 42 }, contact: { ...contact, email } });
  const send = async (
    secret: string,
    prefix = '',
    encoding: 'hex' | 'base64' = 'hex',
    body = webhookOf(contact.email),
  ) => {
    const signature = `${prefix}${createHmac('sha256', secret).update(body).digest(encoding)}`;
    return (await fetch(url, { method: 'POST', body, headers: { 'x-signature': signature } })).status;
  };
  expect([await send('wrong'), await send('wrong', 'sha256=', 'base64')]).toEqual([401, 401]);
  // An upload that is cut, which anyone can send.
  const cut = connect(Number(new URL(url).port), '127.0.0.1');
  cut.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{');
  await once(cut, 'connect');
  cut.destroy();
  await vi.waitFor(() => expect(stderr()).toMatch(/aborted/));
  expect(await send('secret', '', 'hex', webhookOf('ada'))).toBe(422);
  expect(stderr()).toContain('email: "ada" is not an e-mail address');
  for (const other of ['{}', 'Ada', '{"event":null}'])
    expect([other, await send('secret', '', 'hex', other)]).toEqual([other, 422]);
  expect(await installation.polled()).toEqual([]);
  expect([await send('secret'), await send('secret', 'sha256=')]).toEqual([200, 200]);
  // Tally and Typeform.
  expect([await send('secret', '', 'base64'), await send('secret', 'sha256=', 'base64')]).toEqual([200, 200]);
  expect(await installation.polled()).toMatchObject([
    { id: 'shop-42', fullName: 'Ada Moreau', email: 'ada@example.com', phone1: '+33 1 70 18 99 00' },
  ]);
});

it('from Facebook Lead Ads, through the expression for n8n', async () => {
  const { service, token, polled } = await install();
  const node: INode = { id: '', name: 'Lead', type: '', typeVersion: 1, position: [0, 0], parameters: {} };
  const unknownType = () => undefined as never;
  const { expression } = new Workflow({
    nodes: [node],
    connections: {},
    active: true,
    nodeTypes: { getByName: unknownType, getByNameAndVersion: unknownType, getKnownTypes: () => ({}) },
  });
  // As the trigger of n8n gives a lead, with Simplify Output.
  const json = {
    id: '4711',
    data: { full_name: 'Ada "A" Moreau', email: 'ada@example.com', phone_number: '+33170189900' },
    form: { id: '1', name: 'Roofs', locale: 'fr_FR', status: 'ACTIVE' },
    ad: { id: '2', name: 'Spring' },
    adset: { id: '3', name: 'Lyon' },
    page: { id: '4', name: 'Soleil Roofing' },
    created_time: '2026-03-02T09:30:00+0000',
  };
  const value = block('Facebook Lead Ads', 'text').trim();
  const body = expression.getParameterValue(value, null, 0, 0, node.name, [{ json }], 'trigger', {});
  const response = await fetch(`${service.url}/leads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: String(body),
  });
  expect(response.status).toBe(201);
  expect(await polled()).toMatchObject([
    {
      id: '4711',
      fullName: 'Ada "A" Moreau',
      email: 'ada@example.com',
      phone1: '+33170189900',
      customFields: { source: 'Facebook', form: 'Roofs', ad: 'Spring' },
    },
  ]);
});

it('with the package on SQLite', async () => {
  const { service, polled } = await install();
  const folder = tempFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const file = service.database.url.slice('sqlite:'.length);
  const program = block('The package on SQLite', 'js').replace('data/leadtap.db', file);
  expect(program).toContain(file);
  writeFileSync(join(folder, 'program.mjs'), program);
  const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs'], { cwd: folder });
  expect(stdout).toMatch(/kind: 'added'/);
  expect(await polled()).toMatchObject([{ id: 'crm-1', firstName: 'Ada', email: 'ada@example.com' }]);
});
