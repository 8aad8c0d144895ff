import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
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
  return { clock, receiver, lines, service, env, client, poll, check };
}

/** Other consumers that poll every 10 minutes as well. */
async function addOthers(
  { service, clock, poll }: Awaited<ReturnType<typeof installation>>,
  names: readonly string[],
) {
  const clients = await Promise.all(names.map((name) => addClient(service, 'boss', `token-${name}`, name)));
  const polls = clients.map((client) => async () => {
    await client();
    await writePolls(service);
  });
  for (let round = 0; round < 5; round += 1) {
    clock.advance(10 * MINUTE_MS);
    for (const one of [poll, ...polls]) await one();
  }
  return polls;
}

/** The first lines of the messages, up to the second half of a sentence. */
const begun = async (check: () => Promise<string[]>): Promise<string[]> =>
  (await check()).map((text) =>
    text.slice('Leadtap (leads.example.com): '.length).replace(/\n[\s\S]*|(?<=;) [\s\S]*/, ''),
  );

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
        'Look in its platform whether the automation is switched on and what its last run says. If the automation has a new token now, or was switched off for good, revoke the old token: `leadtap token revoke token-1`, or keep the token, and forget the consumer: `leadtap connections handled NAME`.',
    ]);
    clock.advance(2 * HOUR_MS);
    expect(await check(), 'it lasts').toEqual([]);
    await poll();
    expect(await check()).toEqual([
      'Leadtap (leads.example.com): ended after 2 h: Zapier (user boss) polls again.',
    ]);

    clock.advance(3 * HOUR_MS);
    expect(await check(), 'more than an hour after the first').toHaveLength(1);
    await poll();
    expect(await check()).toHaveLength(1);
  });

  it('gets a problem that has ended and begins again not before an hour after its first message', async () => {
    const { clock, poll, check } = await installation();
    clock.advance(30 * MINUTE_MS);
    expect(await check()).toHaveLength(1);
    await poll();
    expect(await begun(check)).toEqual(['ended after 0 s: Zapier (user boss) polls again.']);
    clock.advance(HOUR_MS - 1);
    expect(await check()).toEqual([]);
    clock.advance(1);
    expect(await begun(check)).toEqual(['error: Zapier (user boss) has not polled for 1 h;']);
  });

  it('gets a message for each consumer that stops, and one when it polls again, whatever the others do', async () => {
    const installed = await installation();
    const { clock, service, poll, check } = installed;
    const [make = poll, n8n = poll] = await addOthers(installed, ['Make', 'n8n']);
    expect(await begun(check), 'all poll').toEqual([]);
    clock.advance(16 * MINUTE_MS);
    await Promise.all([make(), n8n()]);
    expect(await begun(check)).toEqual(['error: Zapier (user boss) has not polled for 16 min;']);
    await poll();
    expect(await begun(check)).toEqual(['ended after 0 s: Zapier (user boss) polls again.']);
    clock.advance(25 * MINUTE_MS);
    await n8n();
    expect(await begun(check), 'Zapier was sent in the last hour').toEqual([
      'error: Make (user boss) has not polled for 25 min;',
    ]);
    clock.advance(40 * MINUTE_MS);
    await n8n();
    expect(await begun(check)).toEqual(['error: Zapier (user boss) has not polled for 1 h 5 min;']);
    await Promise.all([poll(), make()]);
    expect(await begun(check)).toEqual(['ended: Make (user boss), Zapier (user boss): each polls again.']);
    await service.store.revokeToken('token-n8n');
    clock.advance(16 * MINUTE_MS);
    await Promise.all([poll(), make()]);
    expect(await begun(check), 'a revoked token is no consumer').toEqual([]);
  });

  it('gets a message for each sender that begins to be refused, and one when nothing of it is missing any more', async () => {
    const { clock, service, poll, check } = await installation();
    const send = async (tokenId: string, lead: object) => {
      const { status } = await sendLeads(service, { firstName: 'Ada', ...lead }, { tokenId });
      await service.service.senders?.flush();
      return status;
    };
    expect(await send('web', { nick: 'Ada' })).toBe(422);
    const text = 'request was refused 0 s ago, with 422 invalid-lead: nick.';
    expect(await begun(check)).toEqual([`error: Token web (user boss): 1 ${text}`]);
    clock.advance(MINUTE_MS);
    expect(await send('ads', { nick: 'Ada' })).toBe(422);
    expect(await begun(check)).toEqual([`error: Token ads (user boss): 1 ${text}`]);
    clock.advance(MINUTE_MS);
    expect(await begun(check), 'both last').toEqual([]);
    expect(await send('web', { firstName: 'Ada' })).toBe(201);
    const kept = await service.store.refusedLeads.list({ limit: 9 });
    await service.store.refusedLeads.remove(kept.flatMap(({ id, tokenId }) => (tokenId === 'web' ? id : [])));
    await poll();
    expect(await begun(check)).toEqual([
      'ended after 2 min: token web (user boss) has no refused request that is kept, and no other one of the last 7 days.',
    ]);
  });

  it('gets one message for all that stop together, with at most five names', async () => {
    const installed = await installation();
    const { clock, poll, check } = installed;
    const others = await addOthers(installed, ['b', 'c', 'd', 'e', 'f', 'g']);
    expect(await check()).toEqual([]);
    clock.advance(HOUR_MS);
    const [message = '', ...rest] = await check();
    expect(rest).toEqual([]);
    expect(message).toContain(
      'b (user boss) has not polled for 1 h; it usually polls every 10 min. 6 more have the same problem: c (user boss), d (user boss), e (user boss), f (user boss) and 2 more.',
    );
    for (const one of [poll, ...others]) await one();
    expect(await check()).toEqual([
      'Leadtap (leads.example.com): ended: b (user boss), c (user boss), d (user boss), e (user boss), f (user boss) and 2 more: each polls again.',
    ]);
  });

  it('gets no end while leads wait, however long that takes', async () => {
    const { clock, service, client, check } = await installation();
    const since = `since=${new Date(clock()).toISOString()}`;
    clock.advance(1000);
    await service.add({}, {}, {});
    clock.advance(HOUR_MS);
    expect(await begun(check)).toEqual(['error: Zapier (user boss) has not polled for 1 h;']);
    for (const days of [1, 7, 13]) {
      clock.advance(days * 24 * HOUR_MS);
      expect(await begun(check), `${days} days`).toEqual([]);
    }
    await client(`${since}&limit=1`);
    await writePolls(service);
    expect(await begun(check), 'it polls').toEqual([
      'error: 2 leads wait for Zapier (user boss), the oldest for 21 days 1 h;',
    ]);
    clock.advance(1000);
    await client(since);
    await writePolls(service);
    expect(await begun(check)).toEqual([
      'ended after 21 days: Zapier (user boss) polls again.',
      'ended after 1 s: Zapier (user boss) has the leads that waited.',
    ]);
  });

  it('gets the end of a consumer that was forgotten, and does not say that it polls', async () => {
    const { clock, service, check } = await installation();
    await service.add({});
    clock.advance(HOUR_MS);
    expect(await begun(check)).toHaveLength(1);
    await service.store.consumers.forget({ userId: 'boss', tokenId: 'token-1' });
    expect(await begun(check)).toEqual([
      'ended after 0 s: Zapier (user boss) was revoked, removed or forgotten.',
      expect.stringMatching(/^warning: 1 lead since Monday: no automation/),
    ]);
  });

  it('gets a message when a warning becomes an error, for each webhook by itself', async () => {
    const { clock, service, check } = await installation();
    const fail = async (id: string, since?: number) => {
      const url = `https://hooks.zapier.com/${id}`;
      const hook = { id: id.repeat(32), userId: 'boss', tokenId: 'sends', tokenExpiresAt: null, url };
      const sent = { send: 'lead' as const, baseUrl: service.url, since };
      const stored = await service.store.hooks.subscribe({ ...hook, ...sent }, 20);
      if (stored?.kind !== 'created') throw new Error('not subscribed');
      const progress = { failures: 3, lastStatus: 502, lastEventAt: clock(), failingSince: clock() };
      const later = { notBefore: Date.UTC(2100, 0), checkAt: null };
      await service.store.hooks.settle([
        { claimed: stored.hook, progress: { ...stored.hook, ...progress, ...later } },
      ]);
    };
    await service.store.consumers.forget({ userId: 'boss', tokenId: 'token-1' });
    await fail('1');
    await service.add({});
    const text =
      'Token sends → hooks.zapier.com (user boss): its webhook does not accept leads: it answered with 502;';
    const longText = text.replace('does not accept leads', 'has accepted no leads for 16 min');
    expect(await begun(check)).toEqual([`warning: ${text}`]);
    clock.advance(10 * MINUTE_MS);
    await fail('2', clock());
    expect(await begun(check), 'another webhook of the same token and host').toEqual([
      `warning: ${text.replace('502;', '502.')}`,
    ]);
    clock.advance(6 * MINUTE_MS);
    expect(await begun(check)).toEqual([`error: ${longText}`]);
    clock.advance(10 * MINUTE_MS);
    expect(await begun(check)).toEqual([`error: ${longText.replace('502;', '502.')}`]);
    await service.store.hooks.remove('1'.repeat(32));
    expect(await begun(check)).toEqual([
      'warning: 1 lead since Monday waited for an automation that was removed: leads of Acme.',
      expect.stringMatching(/^ended after .+ was revoked, removed or forgotten\.$/),
    ]);
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
    expect(await check()).toEqual([expect.stringContaining('Zapier (user boss) polls again.')]);
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
