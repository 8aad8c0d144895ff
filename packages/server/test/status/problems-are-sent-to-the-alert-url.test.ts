import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { sendAlert } from '../../src/status/alerts.ts';
import { terminal } from '../cli/terminal.ts';
import { addClient, readStatus, writePolls } from './support/status.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

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

/** A service whose consumer can stop and poll again. */
async function installation(path = '/secret-topic') {
  const clock = manualClock();
  const receiver = await startReceiver();
  const lines: string[] = [];
  const env = {
    LEADTAP_ALERT_URL: `${receiver.url}${path}`,
    LEADTAP_PUBLIC_URL: 'https://leads.example.com',
  };
  const service = await startService({ clock, env, logTo: { write: (line) => lines.push(line) } });
  const client = await addClient(service, 'boss', 'token-1', 'Zapier');
  const poll = async () => {
    await client();
    await writePolls(service);
  };
  for (let count = 0; count < 13; count += 1) {
    if (count > 0) clock.advance(10 * MINUTE_MS);
    await poll();
  }
  const check = async (one: TestService = service) => {
    await one.service.alerts?.check();
    return receiver.messages.splice(0).map(({ text }) => text);
  };
  return { clock, receiver, lines, service, env, poll, check };
}

describe('LEADTAP_ALERT_URL', () => {
  it('gets one message when a problem begins and one when it ends, and no more than one begin in an hour', async () => {
    const { clock, receiver, service, poll, check } = await installation();
    expect(await check()).toEqual([]);
    clock.advance(30 * MINUTE_MS);
    await service.service.alerts?.check();
    expect(receiver.messages).toMatchObject([
      { path: '/secret-topic', headers: { 'content-type': 'text/plain; charset=utf-8' } },
    ]);
    expect(await check()).toEqual([
      'Leadtap (leads.example.com): error: Zapier (user boss) has not polled for 30 min; it usually polls every 10 min.\n' +
        'Look in its platform whether the automation is switched on and what its last run says. If it was switched off for good, revoke its token: `leadtap token revoke token-1`, or keep the token, and forget the consumer: `leadtap consumers forget token-1`.',
    ]);
    clock.advance(2 * HOUR_MS);
    expect(await check(), 'it lasts').toEqual([]);
    await poll();
    expect(await check()).toEqual([
      'Leadtap (leads.example.com): ended after 2 h: A consumer has stopped polling.',
    ]);

    clock.advance(3 * HOUR_MS);
    expect(await check(), 'more than an hour after the first').toHaveLength(1);
    await poll();
    expect(await check()).toHaveLength(1);
  });

  it('gets names without mentions and markup', async () => {
    const { clock, service, check } = await installation();
    const name = '@everyone <!channel> [x](y) *b* `c <script>';
    const poll = await addClient(service, 'boss', 'token-2', name);
    for (let count = 0; count < 13; count += 1) {
      clock.advance(10 * MINUTE_MS);
      await poll();
      await writePolls(service);
    }
    const listed = JSON.stringify(await readStatus(service));
    expect(listed, 'others show it as it is').toContain(JSON.stringify(name));
    expect(await check()).toEqual([expect.stringContaining('error: Zapier (user boss) has not polled')]);
    await service.store.revokeToken('token-1');
    await check();
    clock.advance(2 * HOUR_MS);
    expect(await check()).toEqual([
      expect.stringContaining(
        "error: ＠everyone ＜!channel＞ ［x］(y) ＊b＊ 'c ＜script＞ (user boss) has not polled for 2 h",
      ),
    ]);
  });

  it('does not get a problem again that comes and goes within an hour, and neither its end', async () => {
    const { clock, service, check } = await installation();
    const fail = async (isUp: boolean) => {
      vi.spyOn(service.store, 'status').mockRestore();
      if (!isUp) vi.spyOn(service.store, 'status').mockRejectedValue(new Error('the disk is on fire'));
      const messages = await check();
      clock.advance(MINUTE_MS / 10);
      return messages.map((text) => text.split('\n')[0]?.slice('Leadtap (leads.example.com): '.length));
    };
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await fail(false)).toEqual(['error: The database is unreachable: polls are answered with 503.']);
    expect(await fail(true)).toEqual(['ended after 6 s: The database is unreachable.']);
    for (let count = 0; count < 5; count += 1)
      expect([await fail(false), await fail(true)]).toEqual([[], []]);
    clock.advance(-2 * HOUR_MS);
    expect(await fail(false), 'the clock was set back').toHaveLength(1);
  });

  it('does not get the end of a problem that cannot be seen while the database is unreachable', async () => {
    const { clock, service, poll, check } = await installation();
    clock.advance(30 * MINUTE_MS);
    expect(await check()).toHaveLength(1);
    vi.spyOn(service.store, 'status').mockRejectedValue(new Error('the disk is on fire'));
    expect(await check()).toEqual([expect.stringContaining('error: The database is unreachable')]);
    expect(await check()).toEqual([]);
    vi.restoreAllMocks();
    expect(await check()).toEqual([expect.stringContaining('ended after 0 s: The database is unreachable.')]);
    await poll();
    expect(await check()).toEqual([expect.stringContaining('A consumer has stopped polling.')]);
  });

  it('gets a message that was not accepted again, and no end without a begin; its address is not logged', async () => {
    const { clock, receiver, lines, poll, check } = await installation();
    clock.advance(30 * MINUTE_MS);
    for (const status of [500, 302]) {
      receiver.status = status;
      expect(await check()).toHaveLength(1);
    }
    receiver.status = 200;
    expect(await check(), 'now it is accepted').toHaveLength(1);
    expect(await check()).toEqual([]);
    receiver.status = 503;
    await poll();
    const ended = [expect.stringContaining('ended')];
    expect([await check(), await check()]).toEqual([ended, ended]);
    receiver.status = 204;
    expect(await check()).toEqual([expect.stringContaining('ended')]);
    expect(await check()).toEqual([]);

    receiver.status = 500;
    clock.advance(3 * HOUR_MS);
    expect(await check()).toHaveLength(1);
    await poll();
    receiver.status = 200;
    expect(await check(), 'the begin was never accepted').toEqual([]);
    const logged = lines.filter((line) => line.includes('an alert was not accepted'));
    expect(logged).toHaveLength(5);
    expect(logged[0]).toContain('"status":500');
    expect(lines.join('')).not.toContain('secret-topic');
  });

  it('gets what lasts once more after a restart, but not that consumers have not polled yet since', async () => {
    const { clock, service, env, check } = await installation();
    await service.stop();
    clock.advance(MINUTE_MS);
    const again = await startService({ clock, beside: service, env });
    expect(await check(again), 'it cannot be said yet').toEqual([]);
    clock.advance(30 * MINUTE_MS);
    expect(await check(again)).toHaveLength(1);
    await again.stop();
    const third = await startService({ clock, beside: service, env });
    expect([await check(third), await check(third)]).toEqual([[expect.stringContaining('Zapier')], []]);
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
