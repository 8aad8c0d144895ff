import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { sendAlert } from '../../src/status/alerts.ts';
import { terminal } from '../cli/terminal.ts';
import { addAutomations, pass, readStatus } from './support/status.ts';

const HOUR_MS = 3_600_000;

/** What ntfy, Slack or Teams would get. */
async function startReceiver() {
  const messages: { path: string | undefined; headers: IncomingHttpHeaders; text: string }[] = [];
  const receiver = { messages, status: 200, url: '' };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    messages.push({ path: request.url, headers: request.headers, text: Buffer.concat(chunks).toString() });
    response.writeHead(receiver.status, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

/** A service whose automations can stop and poll again. */
async function installation(names: readonly string[] = ['Zapier'], path = '/secret-topic') {
  const clock = manualClock();
  const receiver = await startReceiver();
  const lines: string[] = [];
  const env = {
    LEADTAP_ALERT_URL: `${receiver.url}${path}`,
    LEADTAP_PUBLIC_URL: 'https://leads.example.com',
  };
  const service = await startService({ clock, env, logTo: { write: (line) => lines.push(line) } });
  const polls = await addAutomations(service, clock, names);
  const [poll = async () => undefined] = polls;
  const check = async (one: TestService = service) => {
    await one.service.alerts?.check();
    return receiver.messages.splice(0).map(({ text }) => text);
  };
  const wait = (minutes: number) => pass(service, clock, minutes);
  return { clock, receiver, lines, service, env, polls, poll, check, wait };
}

/** The lines of the messages that are no fix. */
const said = async (check: () => Promise<string[]>): Promise<string[]> =>
  (await check())
    .flatMap((text) => text.slice('Leadtap (leads.example.com): '.length).split('\n'))
    .filter((line) => /^(error|warning|ended|\d)/.test(line));

describe('LEADTAP_ALERT_URL', () => {
  it('gets one message when a connection gets red or amber and one when that ends, and no more than one begin in an hour', async () => {
    const { receiver, service, poll, check, wait } = await installation();
    expect(await check()).toEqual([]);
    await wait(20);
    await service.service.alerts?.check();
    expect(receiver.messages).toMatchObject([
      { path: '/secret-topic', headers: { 'content-type': 'text/plain; charset=utf-8' } },
    ]);
    const { message, fix } = (await readStatus(service)).out[0] ?? {};
    expect(message).toMatch(/^silent since/);
    expect(await check()).toEqual([`Leadtap (leads.example.com): warning: Zapier: ${message}\n${fix}`]);
    await wait(30);
    expect(await check(), 'it lasts').toEqual([]);
    await poll();
    expect(await check()).toEqual(['Leadtap (leads.example.com): ended after 30 min: Zapier: 0 sent.']);
    await wait(20);
    expect(await check(), 'less than an hour after the first').toEqual([]);
    await wait(10);
    expect(await check()).toHaveLength(1);
    await poll();
    expect(await check()).toHaveLength(1);
  });

  it('gets a message when amber gets red', async () => {
    const { service, check, wait } = await installation();
    await wait(20);
    expect(await said(check)).toEqual([expect.stringMatching(/^warning: Zapier: silent since/)]);
    await service.add({}, {});
    await wait(1);
    expect(await said(check)).toEqual([
      expect.stringMatching(/^error: Zapier: silent since .+ 2 wait, safe/),
    ]);
    expect(await said(check)).toEqual([]);
  });

  it('gets one message for all that begin together, with at most five in full', async () => {
    const { polls, check, wait } = await installation(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    await wait(20);
    const [message = '', ...rest] = await check();
    expect(rest).toEqual([]);
    expect(message.match(/warning: [a-g]: silent/g)).toHaveLength(5);
    expect(message).toMatch(/\n2 more on the status page: f, g$/);
    for (const one of polls) await one();
    const ended = await said(check);
    expect(ended).toHaveLength(6);
    expect(ended[0]).toBe('ended after 0 s: a: 0 sent.');
  });

  it('gets a message for each connection, whatever the others do, and the end of one that was revoked', async () => {
    const { service, polls, check, wait } = await installation(['Make', 'n8n']);
    await wait(14);
    await polls[1]?.();
    await wait(6);
    expect(await said(check)).toEqual([expect.stringMatching(/^warning: Make: silent/)]);
    await wait(14);
    expect(await said(check)).toEqual([expect.stringMatching(/^warning: n8n: silent/)]);
    await service.store.revokeToken('token-Make');
    expect(await said(check)).toEqual(['ended after 14 min: Make.']);
  });

  it('gets what was refused at the door', async () => {
    const { service, check } = await installation();
    expect((await sendLeads(service, { nick: 'Ada' }, { tokenId: 'web' })).status).toBe(422);
    await service.service.connections.flush();
    expect(await said(check)).toEqual([
      expect.stringMatching(/^error: .+ 1 held back, safe: not valid: nick$/),
    ]);
  });

  it('gets the leads of each company that no automation gets', async () => {
    const { service, check, wait } = await installation([]);
    await service.add({}, { companyId: 'globex' });
    await wait(17);
    const message = ': 1 lead that no automation gets: safe here';
    expect(await said(check)).toEqual([
      `warning: Nowhere yet (acme)${message}`,
      `warning: Nowhere yet (globex)${message}`,
    ]);
    await service.store.connections.handleUnassigned('acme');
    expect(await said(check)).toEqual(['ended after 0 s: Nowhere yet (acme).']);
  });

  it('gets names without mentions and markup', async () => {
    const name = '@everyone <!channel> [x](y) *b* `c <script>';
    const { service, check, wait } = await installation([name]);
    await wait(20);
    expect(JSON.stringify(await readStatus(service)), 'others show it as it is').toContain(
      JSON.stringify(name),
    );
    expect(await said(check)).toEqual([
      expect.stringContaining("warning: ＠everyone ＜!channel＞ ［x］(y) ＊b＊ 'c ＜script＞: silent since"),
    ]);
  });

  it('does not get a problem again that comes and goes within an hour, and neither its end', async () => {
    const { clock, service, check } = await installation();
    const fail = async (isUp: boolean) => {
      vi.spyOn(service.store, 'status').mockRestore();
      if (!isUp) vi.spyOn(service.store, 'status').mockRejectedValue(new Error('the disk is on fire'));
      const messages = await said(check);
      clock.advance(6000);
      return messages;
    };
    onTestFinished(() => void vi.restoreAllMocks());
    const sentAt = clock();
    expect(await fail(false)).toEqual(['error: The database is unreachable: polls are answered with 503.']);
    expect(await fail(true)).toEqual(['ended after 6 s: The database is unreachable.']);
    for (let count = 0; count < 5; count += 1)
      expect([await fail(false), await fail(true)]).toEqual([[], []]);
    clock.advance(sentAt + HOUR_MS - 1 - clock());
    expect(await fail(false), 'a millisecond less than an hour').toEqual([]);
    clock.advance(-2 * HOUR_MS);
    expect(await fail(false), 'the clock was set back').toHaveLength(1);
  });

  it('does not get the end of what cannot be read while the database is unreachable', async () => {
    const { service, poll, check, wait } = await installation();
    await wait(20);
    expect(await check()).toHaveLength(1);
    vi.spyOn(service.store, 'status').mockRejectedValue(new Error('the disk is on fire'));
    expect(await said(check)).toEqual([expect.stringContaining('error: The database is unreachable')]);
    expect(await check()).toEqual([]);
    vi.restoreAllMocks();
    expect(await said(check)).toEqual(['ended after 0 s: The database is unreachable.']);
    await poll();
    expect(await said(check)).toEqual(['ended after 0 s: Zapier: 0 sent.']);
  });

  it('gets a message that was not accepted again, and no end without a begin; its address is not logged', async () => {
    const { receiver, service, lines, poll, check, wait } = await installation();
    await wait(20);
    for (const status of [500, 404]) {
      receiver.status = status;
      expect(await check()).toHaveLength(1);
    }
    expect((await readStatus(service)).problems).toMatchObject([
      { kind: 'alerts-failing', level: 'warning', message: 'Alerts do not get out: 404.' },
    ]);
    receiver.status = 200;
    expect(await check(), 'now it is accepted').toHaveLength(1);
    expect(await check()).toEqual([]);
    expect((await readStatus(service)).problems).toEqual([]);
    receiver.status = 503;
    await poll();
    const ended = [expect.stringContaining('ended')];
    expect([await check(), await check()]).toEqual([ended, ended]);
    receiver.status = 204;
    expect(await check()).toEqual(ended);
    expect(await check()).toEqual([]);

    receiver.status = 500;
    await wait(80);
    expect(await check()).toHaveLength(1);
    await poll();
    receiver.status = 200;
    expect(await check(), 'the begin was never accepted').toEqual([]);
    const logged = lines.filter((line) => line.includes('an alert was not accepted'));
    expect(logged).toHaveLength(5);
    expect(logged[0]).toContain('"status":500');
    expect(lines.join('')).not.toContain('secret-topic');
  });

  it('gets what lasts once more after a restart', async () => {
    const { clock, service, env, check, wait } = await installation();
    await wait(20);
    expect(await check()).toHaveLength(1);
    await service.stop();
    const again = await startService({ clock, beside: service, env });
    expect([await check(again), await check(again)]).toEqual([[expect.stringContaining('Zapier')], []]);
  });
});

it.each([
  ['https://ntfy.sh/topic', 'text'],
  ['https://ntfy.example.com/slack-alerts', 'text'],
  ['https://hooks.slack.com/services/T0/B0/x', 'slack'],
  ['https://mattermost.example.com/hooks/xyz', 'slack'],
  ['https://discord.com/api/webhooks/1/x/slack', 'slack'],
  ['https://chat.googleapis.com/v1/spaces/x/messages?key=k', 'slack'],
  ['https://prod-1.westeurope.logic.azure.com:443/workflows/x/triggers/manual/paths/invoke', 'teams'],
  ['https://x.1.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/x', 'teams'],
  ['https://example.webhook.office.com/webhookb2/x', 'teams'],
  ['https://logic.azure.com.example.com/x', 'text'],
] as const)('%s gets %s', async (url, format) => {
  let sent: { readonly type: string | undefined; readonly body: string } | undefined;
  const delivery = {
    close: () => undefined,
    post: async (_: URL, headers: Readonly<Record<string, string>>, body: string) => {
      sent = { type: headers['content-type'], body };
      return { kind: 'accepted', status: 200 };
    },
  };
  await sendAlert(
    { alertUrl: url, delivery, publicUrl: undefined, version: '1' },
    "a “problem” of <!here> `--name '@x <@y>'`",
  );
  const text = "Leadtap: a “problem” of ＜!here＞ `--name '@x ＜@y＞'`";
  const card = { type: 'AdaptiveCard', version: '1.4', body: [{ type: 'TextBlock', text, wrap: true }] };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  const expected = {
    slack: { text },
    teams: { type: 'message', attachments: [{ contentType, content: card }] },
  };
  if (format === 'text') expect(sent).toEqual({ type: 'text/plain; charset=utf-8', body: text });
  else {
    expect(sent?.type).toBe('application/json');
    expect(JSON.parse(sent?.body ?? '')).toEqual(expected[format]);
  }
});

describe('leadtap alert --test', () => {
  it('sends a message and says what the receiver answered', async () => {
    const receiver = await startReceiver();
    const { run } = terminal();
    const test = (path: string) =>
      run('alert --test', { env: { LEADTAP_ALERT_URL: `${receiver.url}${path}` } });
    const { host } = new URL(receiver.url);
    expect(await test('/topic')).toMatchObject({
      code: 0,
      stderr: `${host} accepted the message with status 200.\n`,
    });
    expect(receiver.messages).toMatchObject([
      { text: 'Leadtap: this is a test. Messages about problems arrive here.' },
    ]);
    receiver.status = 404;
    const refused = await test('/hooks/wrong-secret');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`${host} refused the message with status 404`);
    expect(refused.stderr).not.toContain('wrong-secret');
  });

  it('says what to do without an address, with a wrong one, and if nothing answers', async () => {
    const { run } = terminal();
    expect(await run('alert --test')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('LEADTAP_ALERT_URL is not set\n  Set it to the address'),
    });
    const wrong = await run('alert --test', { env: { LEADTAP_ALERT_URL: 'ntfy.sh/topic' } });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('such as https://ntfy.sh/my-secret-topic');
    const receiver = await startReceiver();
    const closed = await run('alert --test', { env: { LEADTAP_ALERT_URL: 'http://127.0.0.1:1/topic' } });
    expect(closed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('127.0.0.1:1 cannot be reached'),
    });
    expect(receiver.messages).toEqual([]);
  });
});
