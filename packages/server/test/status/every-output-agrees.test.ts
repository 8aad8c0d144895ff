/**
 * One diagnosis: in each situation `/status.json`, `leadtap doctor --json`, the metric `leadtap_problem` and the list of
 * consumers over HTTP say the same.
 * `wasGreen`: a loss that earlier versions did not report.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Consumers, StatusJson } from '@leadtap/contract';
import { issueToken } from 'leadtap';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import {
  keyFileOf,
  leaveRequests,
  startService,
  type TestService,
} from '../../../testing/harness/service.ts';
import { type Receiver, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { loadSigningKeys } from '../../src/accounts/signing-keys.ts';
import type { HookProgress, NewHook } from '../../src/hooks/store.ts';
import { RULES } from '../../src/status/rules.ts';
import { terminal } from '../cli/terminal.ts';
import { iso, summary } from '../consumers/support/consumers.ts';
import { storedHook, subscribe } from '../hooks/support/hooks.ts';
import { addClient, readStatus, writePolls } from './support/status.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

class World {
  readonly clock: ManualClock;
  readonly receiver: Receiver;
  service: TestService;

  constructor(clock: ManualClock, receiver: Receiver, service: TestService) {
    this.clock = clock;
    this.receiver = receiver;
    this.service = service;
  }

  /** Polls as this token; `query` may depend on the time. */
  async client(name: string, userId = 'boss') {
    const poll = await addClient(this.service, userId, name, name);
    return async (query: string | (() => string) = '') => {
      const status = await poll(typeof query === 'string' ? query : query());
      await writePolls(this.service);
      return status;
    };
  }

  /** A client that has been polling for some time, always from where it was. */
  async established(name: string, { userId = 'boss', everyMs = 2 * MINUTE_MS, times = 7 } = {}) {
    const poll = await this.client(name, userId);
    const next = () => poll(`since=${iso(this.clock())}`);
    for (let count = 0; count < times; count += 1) {
      if (count > 0) this.clock.advance(everyMs);
      await next();
    }
    return { poll, next };
  }

  async subscribed(tokenId: string, progress?: Partial<HookProgress>) {
    const token = await this.service.token('boss', { tokenId, expiresInMs: 30 * DAY_MS });
    const { id } = await subscribe(this.service, token, this.receiver.url);
    if (!progress) return id;
    const claimed = await storedHook(this.service, id);
    await this.service.store.hooks.settle([{ claimed, progress: { ...claimed, ...progress } }]);
    return id;
  }

  /** A webhook subscription that sends leads, as after attempts of the service, which makes no more of them. */
  async sending(
    tokenId: string,
    progress: Partial<HookProgress> = {},
    since?: number,
    rest: Partial<NewHook> = {},
  ) {
    const { clock, service, receiver } = this;
    const id = randomBytes(16).toString('hex');
    const stored = await service.store.hooks.subscribe(
      {
        ...{ id, userId: 'boss', tokenId, url: receiver.url, send: 'lead', baseUrl: service.url, since },
        tokenExpiresAt: clock() + 30 * DAY_MS,
        ...rest,
      },
      20,
    );
    if (stored?.kind !== 'created') throw new Error('not subscribed');
    const sent = { lastEventAt: clock(), lastStatus: 200 };
    const later = { ...sent, notBefore: Date.UTC(2100, 0), checkAt: null, ...progress };
    await service.store.hooks.settle([{ claimed: stored.hook, progress: { ...stored.hook, ...later } }]);
    return id;
  }

  /** A token that sends leads, as `leadtap token issue` records it. */
  async sender(tokenId: string, days = 90, source?: string, name = tokenId) {
    const { clock, service } = this;
    const times = { issuedAt: clock(), expiresAt: clock() + days * DAY_MS };
    const scopes = ['leads:write'] as const;
    const grant = { userId: 'boss', ...times, scopes };
    await service.store.recordTokens([{ id: tokenId, name, ...grant }]);
    const token = await issueToken(service.service.keys, {
      ...grant,
      tokenId,
      ...(source !== undefined && { source: { name: source, map: {} } }),
    });
    return async (lead: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(lead) };
      const { status } = await fetch(`${service.url}/leads`, init);
      await service.service.senders?.flush();
      await service.service.refusedLeads.flush();
      return status;
    };
  }

  async restart(afterMs: number) {
    await this.service.stop();
    this.clock.advance(afterMs);
    const { clock, service: beside } = this;
    this.service = await startService({ clock, beside, env: { LEADTAP_HOOK_HOSTS: this.receiver.origin } });
  }
}

interface Situation {
  readonly name: string;
  readonly expected: readonly `${string} ${'error' | 'warning' | 'unknown'}`[];
  /** Default: true without an error. */
  readonly healthy?: boolean | null;
  readonly says?: RegExp;
  readonly wasGreen?: true;
  readonly env?: Record<string, string>;
  readonly store?: 'sqlite';
  arrange(world: World): Promise<unknown>;
}

const LEAD = { firstName: 'Ada' };

const SITUATIONS: readonly Situation[] = [
  {
    name: 'the token of a web form has expired, and its leads are refused',
    expected: ['leads-refused error', 'senders-expired error'],
    wasGreen: true,
    says: /form \(user boss\): 15 requests were refused .+, with 401 token-expired\..* form \(user boss\): its token expired 10 min ago/,
    arrange: async (world) => {
      const send = await world.sender('form', 1);
      await send(LEAD);
      await (await world.client('make'))();
      world.clock.advance(DAY_MS + 5 * MINUTE_MS);
      for (let count = 0; count < 15; count += 1) expect(await send({ ...LEAD, id: `${count}` })).toBe(401);
      world.clock.advance(5 * MINUTE_MS);
    },
  },
  {
    name: 'the token of a web form has expired, and nothing came since',
    expected: ['senders-expired error'],
    wasGreen: true,
    arrange: async (world) => {
      await (await world.sender('form', 10))(LEAD);
      await (await world.client('make'))();
      world.clock.advance(11 * DAY_MS);
    },
  },
  {
    name: 'the token of a web form expires soon',
    expected: ['senders-expiring warning'],
    wasGreen: true,
    says: /^.+The token of form \(user boss\) expires in 7 days\. What it sends is refused then\.$/,
    arrange: async (world) => {
      await (await world.sender('form', 30))(LEAD);
      world.clock.advance(23 * DAY_MS);
      await (await world.client('make'))();
    },
  },
  {
    name: 'another token of the same name and source sends instead of one that has expired',
    expected: [],
    arrange: async (world) => {
      await (await world.sender('old', 10, undefined, 'form'))(LEAD);
      world.clock.advance(9 * DAY_MS);
      await (await world.sender('new', 90, undefined, 'form'))(LEAD);
      world.clock.advance(2 * DAY_MS);
      await (await world.client('make'))();
    },
  },
  {
    name: 'requests with an unknown field are refused',
    expected: ['leads-refused error'],
    wasGreen: true,
    says: /form \(user boss\): 2 requests were refused .+, the last one 1 min ago, with 422 invalid-lead: phone_number\.$/,
    arrange: async (world) => {
      const send = await world.sender('form');
      for (const id of ['1', '2']) expect(await send({ ...LEAD, id, phone_number: '1' })).toBe(422);
      world.clock.advance(MINUTE_MS);
      const [{ fix } = { fix: '' }] = (await readStatus(world.service)).problems;
      expect(fix).toMatch(/^Leadtap has no field phone_number: rename it in the sender to `phone1`/);
    },
  },
  {
    name: 'a revoked token still sends',
    expected: ['leads-refused error'],
    wasGreen: true,
    says: /1 request was refused and is not kept, the last one 0 s ago, with 401 token-revoked\.$/,
    arrange: async (world) => {
      const send = await world.sender('form');
      await world.service.store.revokeToken('form');
      expect(await send(LEAD)).toBe(401);
    },
  },
  {
    name: 'no consumer has polled yet',
    expected: ['leads-unseen warning'],
    says: /^1 lead since Monday: no automation of Acme\.$/,
    arrange: async ({ service }) => service.add({}),
  },
  {
    name: 'a consumer polls and has every lead',
    expected: [],
    says: /^No lead yet\. The only consumer polls as usual\.$/,
    arrange: (world) => world.established('make'),
  },
  {
    name: 'a lead came after the last poll',
    expected: [],
    says: /^0 of 1 lead since Monday reached an automation\. 1 waits for make\. No lead waits longer than usual\. The only/,
    arrange: async (world) => {
      await world.established('make');
      await world.service.add({});
      world.clock.advance(MINUTE_MS);
    },
  },
  {
    name: 'a lead waits for a webhook consumer that has never polled',
    expected: [],
    says: /^0 of 1 lead since Monday reached an automation\. 1 waits for token zapier\. No lead waits longer than usual\. The only/,
    arrange: async (world) => {
      const { next } = await world.established('make', { userId: 'rival' });
      const id = await world.subscribed('zapier');
      world.clock.advance(1000);
      await world.service.add({});
      await vi.waitFor(async () =>
        expect(await storedHook(world.service, id)).toMatchObject({ lastStatus: 200 }),
      );
      await next();
    },
  },
  {
    name: 'a lead waits for a consumer whose plan was lowered since its last poll',
    expected: ['leads-unseen warning'],
    says: /^1 lead since Monday: no automation of Acme\.$/,
    arrange: async (world) => {
      await world.established('make');
      await world.service.store.updateUser('boss', { plan: 'STARTER' });
      await world.service.add({});
      world.clock.advance(MINUTE_MS);
    },
  },
  {
    name: 'consumers are not recorded',
    expected: [],
    healthy: null,
    says: /not recorded/,
    env: { LEADTAP_CONSUMERS: 'off' },
    arrange: async ({ service }) => service.poll('boss'),
  },
  {
    name: 'a consumer polls once a day, with leads of this morning',
    expected: [],
    arrange: async (world) => {
      await world.established('report', { everyMs: DAY_MS });
      await world.service.add({}, {});
      world.clock.advance(5 * HOUR_MS);
    },
  },
  {
    name: 'a person tried curl once, two hours before',
    expected: [],
    arrange: async (world) => {
      const poll = await world.client('curl');
      await poll(`since=${iso(world.clock())}`);
      world.clock.advance(1000);
      await world.service.add({});
      world.clock.advance(2 * HOUR_MS);
    },
  },
  {
    name: 'a person tried curl twice, days ago',
    expected: ['leads-unseen warning'],
    says: /^1 lead since Monday: curl alone may see leads of Acme, and does not poll any more\.$/,
    arrange: async (world) => {
      const poll = await world.client('curl');
      await poll(`since=${iso(world.clock())}`);
      await poll(`since=${iso(world.clock())}`);
      await world.service.add({});
      world.clock.advance(3 * DAY_MS);
    },
  },
  {
    name: 'a token was revoked and is not used any more',
    expected: ['leads-unseen warning'],
    says: /^1 lead since Monday: no automation of Acme\.$/,
    arrange: async (world) => {
      await world.established('old');
      await world.service.store.revokeToken('old');
      await world.service.add({});
      world.clock.advance(2 * HOUR_MS);
    },
  },
  {
    name: '232 leads have been waiting for 8 days for a consumer that has stopped',
    expected: ['consumers-stale error'],
    wasGreen: true,
    says: /^make \(user boss\) has not polled for 8 days; it usually polls every 6 h; 232 leads wait\.$/,
    arrange: async (world) => {
      await world.established('make', { everyMs: 6 * HOUR_MS });
      await world.service.add(...Array.from({ length: 232 }, () => ({})));
      world.clock.advance(8 * DAY_MS);
    },
  },
  {
    name: 'a consumer polled for an hour and stopped; 7 leads wait for 20 hours',
    expected: ['consumers-stale error'],
    wasGreen: true,
    says: /^make \(user boss\) has not polled for 20 h; it usually polls every 10 min; 7 leads wait\.$/,
    arrange: async (world) => {
      await world.established('make', { everyMs: 10 * MINUTE_MS, times: 7 });
      await world.service.add(...Array.from({ length: 7 }, () => ({})));
      world.clock.advance(20 * HOUR_MS);
    },
  },
  {
    name: 'the first lead came after a consumer had stopped, a year ago',
    expected: ['consumers-stale error'],
    wasGreen: true,
    says: /^first \(user boss\) has not polled for 365 days; .+; 1 lead waits\.$/,
    arrange: async (world) => {
      const poll = await world.client('first');
      for (let count = 0; count < 7; count += 1) {
        world.clock.advance(5 * MINUTE_MS);
        await poll('');
      }
      await world.service.add({});
      world.clock.advance(365 * DAY_MS);
    },
  },
  {
    name: 'a stopped consumer is forgotten',
    expected: ['leads-unseen warning'],
    says: /^1 lead since Monday waited for an automation that was removed: leads of Acme\.$/,
    arrange: async (world) => {
      await world.established('make');
      await world.service.add({});
      world.clock.advance(DAY_MS);
      await writePolls(world.service);
      expect((await readStatus(world.service)).problems[0]?.fix).toContain('`leadtap consumers forget make`');
      const { clock, service } = world;
      const forget = (token: string) =>
        terminal().run(`consumers forget ${token}`, { env: service.database.env, parts: { clock } });
      expect(await forget('make')).toEqual({
        ...{ code: 0, stderr: '' },
        stdout: 'Forgot make (user boss): it last polled 1 day ago, and 1 lead waits.\n',
      });
      expect(await forget('make')).toMatchObject({
        ...{ code: 1, stdout: '' },
        stderr: expect.stringContaining('no consumer polls with token make\n'),
      });
    },
  },
  {
    name: 'the plan of a stopped consumer was lowered, and leads wait',
    expected: ['consumers-refused warning'],
    says: /^make \(user boss\) has not polled for 40 days; the plan of its user does not include it; 1 lead waits\.$/,
    arrange: async (world) => {
      await world.established('make');
      await world.service.store.updateUser('boss', { plan: 'STARTER' });
      await world.service.add({});
      world.clock.advance(40 * DAY_MS);
    },
  },
  {
    name: 'a consumer asks for the same page again and again',
    expected: ['leads-waiting error'],
    wasGreen: true,
    says: /^3 leads wait for loop/,
    arrange: async (world) => {
      const { poll } = await world.established('loop');
      const since = `since=${iso(world.clock())}&limit=1`;
      world.clock.advance(1000);
      await world.service.add({}, {}, {}, {});
      for (let count = 0; count < 7; count += 1) {
        await poll(since);
        world.clock.advance(15 * MINUTE_MS);
      }
      await poll(since);
    },
  },
  {
    name: 'a consumer gets the same leads each time',
    expected: ['leads-waiting error'],
    wasGreen: true,
    says: /^same \(user boss\) has received leads and does not confirm them, the oldest for 1 h 20 min: it polls from the same place again and again\.$/,
    arrange: async (world) => {
      const { poll } = await world.established('same');
      const since = `since=${iso(world.clock())}`;
      world.clock.advance(1000);
      await world.service.add({}, {});
      for (let count = 0; count < 40; count += 1) {
        world.clock.advance(2 * MINUTE_MS);
        await poll(since);
      }
      await writePolls(world.service);
      const { clock, service } = world;
      const run = (command: string) =>
        terminal().run(command, { env: service.database.env, parts: { clock } });
      expect((await run('consumers')).stdout).toMatch(/^same +same +boss +stuck /m);
      const [{ id }] = JSON.parse((await run('leads list --json')).stdout);
      expect((await run(`leads show ${id}`)).stdout).toContain(
        'delivered; it receives the same leads again and again and does not confirm them; last poll',
      );
    },
  },
  {
    name: 'a client disconnects before each response',
    expected: ['leads-waiting error'],
    wasGreen: true,
    arrange: async (world) => {
      await world.established('impatient');
      await world.service.add({});
      for (let count = 0; count < 7; count += 1) {
        world.clock.advance(15 * MINUTE_MS);
        await world.service.store.consumers.record([
          summary('boss', 'impatient', { lastPollAt: world.clock(), lastStatus: 499 }),
        ]);
      }
    },
  },
  {
    name: 'a consumer has a wrong query for hours',
    expected: ['leads-waiting error'],
    says: /its last poll was refused: the query is not valid \(400 invalid-query\)\.$/,
    arrange: async (world) => {
      const { poll } = await world.established('typo');
      await world.service.add({});
      for (let count = 0; count < 7; count += 1) {
        world.clock.advance(15 * MINUTE_MS);
        await poll('limit=0');
      }
    },
  },
  {
    name: 'a consumer gets 429 for 47 minutes while a lead waits',
    expected: ['consumers-limited error'],
    wasGreen: true,
    arrange: async (world) => {
      const { next } = await world.established('fast', { everyMs: 5 * MINUTE_MS });
      await world.service.add({});
      for (let count = 0; count < 9; count += 1) {
        world.clock.advance(5 * MINUTE_MS);
        await leaveRequests(world.service, 'boss', 0);
        expect(await next()).toBe(429);
      }
      world.clock.advance(2 * MINUTE_MS);
    },
  },
  {
    name: 'a consumer gets 429 now while a lead waits',
    expected: ['consumers-limited warning'],
    wasGreen: true,
    arrange: async (world) => {
      const { next } = await world.established('fast');
      await world.service.add({});
      world.clock.advance(MINUTE_MS);
      await leaveRequests(world.service, 'boss', 0);
      expect(await next()).toBe(429);
    },
  },
  {
    name: 'a new consumer died after 4 polls',
    expected: ['leads-waiting error'],
    wasGreen: true,
    arrange: async (world) => {
      await world.established('new', { times: 4 });
      await world.service.add({});
      world.clock.advance(3 * HOUR_MS);
    },
  },
  {
    name: 'a token was tried four times in a few minutes, and not since yesterday',
    expected: ['leads-waiting warning'],
    wasGreen: true,
    says: /^1 lead waits for tried \(user boss\), the oldest for 20 days; its last poll was 20 days ago\.$/,
    arrange: async (world) => {
      await world.established('tried', { times: 4 });
      await world.service.add({});
      world.clock.advance(20 * DAY_MS);
    },
  },
  {
    name: 'a client polls with its own clock as since',
    expected: ['leads-skipped error'],
    wasGreen: true,
    says: /^now \(user boss\) has skipped 1 lead: it asked for what comes after, so it was never sent to it\.$/,
    arrange: async (world) => {
      const { next } = await world.established('now');
      world.clock.advance(MINUTE_MS);
      const [stamp = 0] = await world.service.add({});
      world.clock.advance(MINUTE_MS);
      await next();
      world.clock.advance(1000);
      await writePolls(world.service);
      const [{ fix } = { fix: '' }] = (await readStatus(world.service)).problems;
      expect(fix).toContain(`Let now (user boss) poll once with \`since=${iso(stamp - 1)}\``);
    },
  },
  {
    name: 'a client without since gets fewer leads than came between two polls',
    expected: ['leads-skipped error'],
    wasGreen: true,
    says: /^page \(user boss\) has skipped \d leads: more leads came than fit into its page, so they were never sent to it\.$/,
    arrange: async (world) => {
      const poll = await world.client('page');
      for (let count = 0; count < 7; count += 1) {
        await world.service.add({});
        world.clock.advance(2 * MINUTE_MS);
        await poll('limit=2');
      }
      await world.service.add({}, {}, {}, {}, {});
      world.clock.advance(2 * MINUTE_MS);
      await poll('limit=2');
    },
  },
  {
    name: 'a revoked token is still used',
    expected: ['token-revoked-in-use error'],
    wasGreen: true,
    says: /^rotated \(user boss\) polls with a token that was revoked: its requests are refused \(401\)\.$/,
    arrange: async (world) => {
      const { next } = await world.established('rotated');
      await world.service.store.revokeToken('rotated');
      world.clock.advance(2 * MINUTE_MS);
      expect(await next()).toBe(401);
    },
  },
  {
    name: 'an expired token is still used',
    expected: ['token-revoked-in-use error'],
    wasGreen: true,
    says: /that has expired/,
    arrange: async (world) => {
      const { next } = await world.established('short', { everyMs: 5 * DAY_MS - 1 });
      world.clock.advance(2 * MINUTE_MS);
      expect(await next()).toBe(401);
    },
  },
  {
    name: 'a token with a forged signature names a token that polls',
    expected: [],
    arrange: async (world) => {
      await world.established('signed');
      world.clock.advance(2 * MINUTE_MS);
      const keys = await loadSigningKeys({ secrets: [randomBytes(32).toString('base64')] });
      const [issuedAt, expiresAt] = [world.clock(), world.clock() + 30 * DAY_MS];
      const token = await issueToken(keys, { userId: 'boss', tokenId: 'signed', issuedAt, expiresAt });
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await fetch(`${world.service.url}/automation/new-leads`, { headers });
      expect(status).toBe(401);
    },
  },
  {
    name: 'a user was removed whose token is still used',
    expected: ['consumers-refused warning'],
    wasGreen: true,
    arrange: async (world) => {
      const { next } = await world.established('orphan', { userId: 'seller' });
      await world.service.store.removeUser('seller');
      world.clock.advance(2 * MINUTE_MS);
      expect([401, 404]).toContain(await next());
    },
  },
  {
    name: 'a plan was lowered',
    expected: ['consumers-refused warning'],
    says: /^make \(user boss\) polls, but is refused: the Professional plan is required \(403 professional-plan-required\)\.$/,
    arrange: async (world) => {
      const { next } = await world.established('make');
      await world.service.store.updateUser('boss', { plan: 'STARTER' });
      await world.service.add({});
      world.clock.advance(2 * MINUTE_MS);
      expect(await next()).toBe(403);
    },
  },
  {
    name: 'a webhook accepts events, and its token has never polled',
    expected: ['leads-waiting error'],
    wasGreen: true,
    says: /it accepts webhook events, but has never polled\.$/,
    arrange: async (world) => {
      const id = await world.subscribed('zapier');
      world.clock.advance(1000);
      await world.service.add({});
      await vi.waitFor(async () =>
        expect(await storedHook(world.service, id)).toMatchObject({ lastStatus: 200 }),
      );
      world.clock.advance(2 * HOUR_MS);
    },
  },
  ...([5, 20] as const).map(
    (minutes): Situation => ({
      name: `a webhook has been failing for ${minutes} minutes`,
      expected: [`hooks-failing ${minutes < 15 ? 'warning' : 'error'}`],
      arrange: async (world) => {
        await world.established('zapier');
        await world.subscribed('zapier', {
          ...{ failures: 3, lastEventAt: world.clock(), lastStatus: 502 },
          failingSince: world.clock() - minutes * MINUTE_MS,
          // It is not examined before.
          notBefore: world.clock() + HOUR_MS,
        });
      },
    }),
  ),
  {
    name: 'a webhook is disabled',
    expected: ['hooks-disabled error'],
    arrange: async (world) => {
      await world.established('zapier');
      await world.subscribed('zapier', {
        ...{ failures: 30, lastEventAt: world.clock(), lastStatus: 502, disabledAt: world.clock() },
        failingSince: world.clock() - 3 * DAY_MS,
      });
    },
  },
  {
    name: 'a webhook has accepted every lead',
    expected: [],
    says: /^The only lead since Monday reached an automation\. 1 webhook accepts leads\.$/,
    arrange: async (world) => {
      const [announcedThrough = 0] = await world.service.add({});
      await world.sending('make', { announcedThrough }, announcedThrough - 1);
    },
  },
  {
    name: 'a webhook was not sent any lead yet, beside a consumer that polls',
    expected: [],
    says: /^No lead yet\. The only consumer polls as usual\.$/,
    arrange: async (world) => {
      await world.established('make');
      await world.sending('zapier', { lastEventAt: null, lastStatus: null });
    },
  },
  {
    name: 'a webhook gets old leads since a minute ago',
    expected: [],
    says: /^0 of 1 lead of the last 30 days reached an automation\. 1 waits for .+\. 1 came in before an automation was connected\. No lead waits longer than usual\. 1 webhook/,
    arrange: async (world) => {
      const [first = 0] = await world.service.add({}, {});
      world.clock.advance(8 * DAY_MS);
      await world.sending('make', {}, first);
      world.clock.advance(MINUTE_MS);
    },
  },
  {
    name: 'a webhook is not sent the leads, while its token polls as usual',
    expected: ['leads-waiting error'],
    says: /^1 lead waits for make → 127\.0\.0\.1:\d+ \(user boss\), the oldest for 1 h 1\d min; the last was sent 1 h 1\d min ago\.$/,
    arrange: async (world) => {
      const { poll, next } = await world.established('make');
      await world.sending('make');
      world.clock.advance(1000);
      const [added = 0] = await world.service.add({});
      world.clock.advance(1000);
      await poll(`since=${iso(added - 1)}`);
      for (let count = 0; count < 37; count += 1) {
        world.clock.advance(2 * MINUTE_MS);
        await next();
      }
    },
  },
  {
    name: 'no event is sent to a token that has never polled',
    expected: ['leads-waiting error'],
    says: /no webhook event was sent to it, and it has never polled\.$/,
    arrange: async (world) => {
      await world.subscribed('zapier', { notBefore: Date.UTC(2100, 0), checkAt: null });
      world.clock.advance(1000);
      await world.service.add({});
      world.clock.advance(2 * HOUR_MS);
    },
  },
  ...([5, 20] as const).map(
    (minutes): Situation => ({
      name: `a webhook has not accepted a lead for ${minutes} minutes`,
      expected: [`hooks-failing ${minutes < 15 ? 'warning' : 'error'}`],
      says: /^Token make → 127\S+ \(user boss\): its webhook (?:does not accept leads|has accepted no leads for \d+ min): it answered with 502; 1 lead waits\.$/,
      arrange: async (world) => {
        await world.sending('make', { failures: 3, lastStatus: 502, failingSince: world.clock() });
        await world.service.add({});
        world.clock.advance(minutes * MINUTE_MS);
      },
    }),
  ),
  {
    name: 'a webhook that sends leads is disabled',
    expected: ['hooks-disabled error'],
    says: /^Token make → 127\S+ \(user boss\): its webhook is disabled: it answered with 502; 1 lead waits\.$/,
    arrange: async (world) => {
      const failingSince = world.clock();
      await world.service.add({});
      world.clock.advance(3 * DAY_MS);
      await world.sending(
        'make',
        { failures: 30, lastStatus: 502, failingSince, disabledAt: world.clock() },
        1,
      );
    },
  },
  {
    name: 'the plan of a user was lowered whose webhook sends leads',
    expected: ['consumers-refused warning'],
    says: /^Token make → 127.+ gets no leads: the plan of its user does not include it\.$/,
    arrange: async (world) => {
      await world.sending('make');
      world.clock.advance(1000);
      await world.service.add({});
      await world.service.store.updateUser('boss', { plan: 'STARTER' });
    },
  },
  {
    name: 'the token of a webhook that sends leads expires in three days',
    expected: ['tokens-expiring warning'],
    says: /^No lead yet\. 1 webhook accepts leads\. The token of .+ expires in 3 days\. Its webhook ends with it/,
    arrange: async (world) => {
      await world.sending('make');
      world.clock.advance(27 * DAY_MS);
    },
  },
  {
    name: 'the token of a webhook that sends leads has expired, and leads wait',
    expected: ['token-revoked-in-use error'],
    wasGreen: true,
    says: /^Token make → 127\S+ \(user boss\): its token expired on 2\d{3}-\d\d-\d\d: 2 leads wait, and none is sent\.$/,
    arrange: async (world) => {
      await world.established('zapier', { userId: 'rival' });
      await world.sending('make', {}, undefined, { tokenExpiresAt: world.clock() + 1000 });
      world.clock.advance(1000);
      await world.service.add({}, {});
    },
  },
  ...(['lead', 'event'] as const).map(
    (send): Situation => ({
      name: `the key that signed the token of a webhook (${send}) was removed, and leads wait`,
      expected: ['token-revoked-in-use error'],
      says: /^Token make\S*.* \(user boss\): the key that signed its token was removed: 2 leads wait, and none is sent\.$/,
      arrange: async (world) => {
        await world.sending('make', {}, undefined, { send, keyId: 'removed' });
        world.clock.advance(1000);
        await world.service.add({}, {});
      },
    }),
  ),
  {
    name: 'the token of a webhook that sends leads has expired, and no lead waits',
    expected: [],
    says: /^No problem was found\. No consumer polls at present\.$/,
    arrange: async (world) => {
      await world.sending('make', {}, undefined, { tokenExpiresAt: world.clock() + 1000 });
      world.clock.advance(1000);
    },
  },
  {
    name: 'the URL of a webhook was subscribed again, from where the expired token ended',
    expected: [],
    says: /^1 lead since Monday reached an automation\. 1 came in before an automation was connected\. 1 webhook/,
    arrange: async (world) => {
      const [position = 0] = await world.service.add({});
      await world.sending('make', {}, undefined, { tokenExpiresAt: world.clock() + 1000 });
      world.clock.advance(1000);
      const [announcedThrough = 0] = await world.service.add({});
      await world.sending('new', { announcedThrough }, position);
    },
  },
  {
    name: 'the URL of a webhook was subscribed again, from a lead that the expired token did not get',
    expected: ['token-revoked-in-use error'],
    wasGreen: true,
    arrange: async (world) => {
      await world.sending('make', {}, undefined, { tokenExpiresAt: world.clock() + 1000 });
      world.clock.advance(1000);
      await world.service.add({});
      await world.sending('new');
    },
  },
  {
    name: 'this service may not send to the host of a webhook any more',
    expected: ['leads-waiting warning'],
    wasGreen: true,
    env: { LEADTAP_HOOK_HOSTS: 'another.example.com' },
    says: /^1 lead waits for .+, the oldest for 3 min; this service may not send to 127\S+: LEADTAP_HOOK_HOSTS\.$/,
    arrange: async (world) => {
      await world.sending('make');
      world.clock.advance(1000);
      await world.service.add({});
      world.clock.advance(3 * MINUTE_MS);
    },
  },
  {
    name: 'this service may not send events to the host of a webhook any more',
    expected: ['leads-waiting error'],
    wasGreen: true,
    env: { LEADTAP_HOOK_HOSTS: 'another.example.com' },
    says: /^1 lead waits for .+; this service may not send to the host of its webhook: LEADTAP_HOOK_HOSTS\.$/,
    arrange: async (world) => {
      await world.sending('zapier', { lastEventAt: null, lastStatus: null }, undefined, { send: 'event' });
      world.clock.advance(1000);
      await world.service.add({});
      world.clock.advance(2 * HOUR_MS);
    },
  },
  {
    name: 'a webhook gets old leads since three minutes ago',
    expected: ['leads-waiting warning'],
    wasGreen: true,
    says: /^1 lead waits for .+, the oldest for 3 min; the last was sent 3 min ago\.$/,
    arrange: async (world) => {
      const [first = 0] = await world.service.add({}, {});
      world.clock.advance(8 * DAY_MS);
      await world.sending('make', {}, first);
      world.clock.advance(3 * MINUTE_MS);
    },
  },
  {
    name: 'the first request to a webhook is not answered yet',
    expected: [],
    wasGreen: true,
    says: /^No problem was found\. No consumer has polled yet\.$/,
    arrange: async (world) => {
      await world.service.add({});
      await world.sending('make', { lastStatus: null }, 1);
    },
  },
  {
    name: 'a webhook that gets old leads hides none that has waited for hours',
    expected: ['leads-waiting error'],
    wasGreen: true,
    arrange: async (world) => {
      const [first = 0] = await world.service.add({}, {});
      world.clock.advance(8 * DAY_MS);
      await world.sending('waiting');
      world.clock.advance(1000);
      await world.service.add({});
      world.clock.advance(2 * HOUR_MS);
      await world.sending('new', {}, first, { url: `${world.receiver.url}2` });
      world.clock.advance(3 * MINUTE_MS);
    },
  },
  {
    name: 'a consumer has stopped',
    expected: ['consumers-stale error'],
    says: /^make \(user boss\) has not polled for 6 min; it usually polls every 2 min\.$/,
    arrange: async (world) => {
      await world.established('make');
      world.clock.advance(6 * MINUTE_MS);
    },
  },
  {
    name: 'a consumer has stopped after it was refused',
    expected: ['consumers-stale error'],
    says: /has not polled for 6 min; its last poll was refused: the Professional plan is required \(403 professional-plan-required\)\.$/,
    arrange: async (world) => {
      const { next } = await world.established('make');
      await world.service.store.updateUser('boss', { plan: 'STARTER' });
      world.clock.advance(2 * MINUTE_MS);
      await next();
      world.clock.advance(6 * MINUTE_MS);
    },
  },
  {
    name: 'the service has just been restarted',
    ...{ expected: ['consumers-awaited unknown'], healthy: null },
    says: /^The service was down for 5 min, until 40 s ago: waiting for 1 consumer to poll\.$/,
    arrange: async (world) => {
      await world.established('make');
      await world.restart(5 * MINUTE_MS);
      world.clock.advance(40_000);
    },
  },
  {
    name: 'the service was restarted, and the consumer polls again',
    expected: [],
    arrange: async (world) => {
      await world.established('make');
      await world.restart(5 * MINUTE_MS);
      const token = await world.service.token('boss', { tokenId: 'make', expiresInMs: 30 * DAY_MS });
      const headers = { authorization: `Bearer ${token}` };
      await world.service.poll('boss', `since=${iso(world.clock())}`, { headers });
    },
  },
  {
    name: 'the service was restarted, and the consumer does not come back',
    expected: ['consumers-stale error'],
    arrange: async (world) => {
      await world.established('make');
      await world.restart(5 * MINUTE_MS);
      world.clock.advance(4 * MINUTE_MS);
    },
  },
  {
    name: 'the database was unreachable until now',
    ...{ expected: ['consumers-awaited unknown'], healthy: null },
    arrange: async (world) => {
      await world.established('make');
      world.clock.advance(MINUTE_MS);
      const unavailableSince = world.clock();
      world.clock.advance(10 * MINUTE_MS);
      await world.service.store.consumers.recordDowntime(world.clock(), unavailableSince);
    },
  },
  {
    name: 'a token expires in three days',
    expected: ['tokens-expiring warning'],
    arrange: async (world) => {
      const [issuedAt, expiresAt] = [world.clock() - 87 * DAY_MS, world.clock() + 3 * DAY_MS];
      const token = { id: 'old', userId: 'boss', name: 'old', issuedAt, expiresAt };
      await world.service.store.recordTokens([{ ...token, scopes: ['leads:read'] }]);
      const tokenExpiresAt = expiresAt;
      for (let count = 0; count < 7; count += 1) {
        world.clock.advance(2 * MINUTE_MS);
        await world.service.store.consumers.record([
          summary('boss', 'old', { lastPollAt: world.clock(), tokenExpiresAt }),
        ]);
      }
    },
  },
  {
    name: 'the last backup is 77 days old',
    ...{ expected: ['backup-old warning'], wasGreen: true, store: 'sqlite' },
    says: /The last backup is 77 days old\.$/,
    arrange: async ({ clock, service }) => {
      const { database } = service.config;
      if (database.kind !== 'sqlite') throw new Error('not SQLite');
      writeFileSync(`${database.file}.last-backup`, `${iso(clock() - 77 * DAY_MS)}\n`);
    },
  },
  {
    name: 'a proxy for https is not trusted',
    expected: ['proxy-not-trusted warning'],
    wasGreen: true,
    says: /A proxy at 127\.0\.0\.1 passes on requests over https, but is not trusted/,
    arrange: async ({ service }) => service.poll('boss', '', { headers: { 'x-forwarded-proto': 'https' } }),
  },
  {
    name: 'Redis is unreachable',
    expected: ['redis-unreachable warning'],
    env: { LEADTAP_REDIS_URL: 'redis://127.0.0.1:1' },
    arrange: async () => undefined,
  },
  {
    name: 'a request failed',
    expected: ['requests-failed error'],
    arrange: async ({ service }) => {
      const { changeTracking } = service.store;
      vi.spyOn(changeTracking, 'revalidate').mockRejectedValueOnce(new Error('out of memory'));
      expect((await service.poll('boss')).status).toBe(500);
    },
  },
  {
    name: 'stamps are ahead of the clock',
    expected: ['stamps-ahead warning'],
    arrange: async ({ clock, service }) => {
      await service.add({});
      await service.poll('boss');
      clock.advance(-2 * MINUTE_MS);
    },
  },
  {
    name: 'the instance cannot reach the database',
    expected: ['database-unreachable error'],
    arrange: async ({ service }) =>
      vi.spyOn(service.store, 'status').mockRejectedValue(new Error('the disk is on fire')),
  },
];

/** `name level` of each problem, sorted, as each output has it. */
async function readAll({ clock, service, receiver }: World, env: Record<string, string> = {}) {
  await writePolls(service);
  const report = await readStatus(service);
  const metrics = await (await fetch(service.metricsUrl)).text();
  const { host } = new URL(service.statusUrl);
  const doctor = await terminal().run('doctor --json', {
    env: {
      ...{
        ...service.database.env,
        LEADTAP_HOOK_HOSTS: receiver.origin,
        ...env,
        LEADTAP_PORT: '0',
        LEADTAP_METRICS_ADDRESS: host,
      },
      LEADTAP_SIGNING_KEY_FILE: keyFileOf(service),
    },
    parts: { clock },
  });
  const { checks }: { checks: { check: string; state: string; detail: string }[] } = JSON.parse(
    doctor.stdout,
  );
  const rules = checks.filter(({ check }) => RULES.some(({ name }) => name === check));
  const levels: Record<string, string> = { failed: 'error', warning: 'warning', unknown: 'unknown' };
  const named = (problems: readonly (readonly [unknown, unknown])[]) =>
    problems.map((parts) => parts.join(' ')).sort();
  return {
    report,
    delivery: checks.find(({ check }) => check === 'delivery')?.detail,
    texts: [JSON.stringify(report), metrics, doctor.stdout].join('\n'),
    outputs: {
      json: named(report.problems.map(({ kind, severity }) => [kind, severity])),
      gauge: named(
        [...metrics.matchAll(/^leadtap_problem\{name="([a-z-]+)",level="([a-z]+)"\} 1$/gm)].map(
          ([, name, level]) => [name, level],
        ),
      ),
      doctor: named(rules.map(({ check, state }) => [check, levels[state]])),
    },
    sentences: {
      json: report.problems.map(({ message }) => message).sort(),
      doctor: rules.map(({ detail }) => detail).sort(),
    },
  };
}

/** The rows of a user are as in the report. Texts for users have no commands. */
async function expectRows({ service }: World, report: StatusJson): Promise<void> {
  const headers = { authorization: `Bearer ${await service.token('boss', { tokenId: 'console' })}` };
  const response = await fetch(`${service.url}/automation/consumers`, { headers });
  // Where the user may not poll now, or consumers are not recorded.
  if (response.status !== 200) return expect([403, 404, 429]).toContain(response.status);
  const { summary, consumers } = (await response.json()) as Consumers;
  const levels = consumers.map(({ level }) => level);
  for (const { tokenId, firstPollAt, hook, problem, level, message, fix } of consumers) {
    const listed = report.consumers?.listed.find(
      (one) =>
        one.tokenId === tokenId &&
        one.userId === 'boss' &&
        one.firstPollAt === firstPollAt &&
        one.hook?.host === hook?.host,
    );
    if (problem === null) expect(listed?.problems).toEqual([]);
    else expect(listed?.problems).toContain(problem);
    const same = report.problems.find(({ kind }) => kind === problem);
    // One report for all that have this problem: as serious as the worst of them.
    const worstLevel = consumers.some((one) => one.problem === problem && one.level === 'error')
      ? 'error'
      : level;
    if (problem !== null) expect(same?.severity).toBe(worstLevel);
    expect(fix === null).toBe(problem === null);
    expect(message).toMatch(/^\S.+[^.]$/);
    expect(`${message} ${fix}`).not.toMatch(/leadtap |docs\/|table of refusals/);
  }
  if (summary.level === 'good') expect(report.good).not.toBeNull();
  const worst = (['error', 'warning'] as const).find((level) => levels.includes(level));
  if (worst) expect(summary.level).toBe(worst);
  else expect(['good', 'unknown']).toContain(summary.level);
}

describe('the outputs agree', () => {
  const situations = SITUATIONS.filter(({ store }) => store === undefined || store === inject('store'));

  it.each(situations)('$name: $expected', async ({ expected, env, arrange, says, healthy }) => {
    onTestFinished(() => void vi.restoreAllMocks());
    const clock = manualClock();
    const receiver = await startReceiver();
    const service = await startService({ clock, env: { LEADTAP_HOOK_HOSTS: receiver.origin, ...env } });
    const world = new World(clock, receiver, service);
    await arrange(world);
    const { report, delivery, texts, outputs, sentences } = await readAll(world, env);
    // A program that knows the id may delete the subscription.
    for (const { hook } of await world.service.store.hooks.list({ now: clock(), limit: 100 }))
      expect(texts).not.toContain(hook.id);
    if (report.database.reachable) await expectRows(world, report);
    const found = [...expected].sort();
    expect(outputs).toEqual({ json: found, gauge: found, doctor: found });
    expect(sentences.doctor).toEqual(sentences.json);
    const hasErrors = expected.some((problem) => problem.endsWith(' error'));
    expect(report.healthy).toBe(healthy === undefined ? !hasErrors : healthy);
    const sentence = report.good ?? report.note ?? undefined;
    expect(delivery).toBe(sentence);
    if (report.good !== null) expect(report.healthy).toBe(true);
    if (says) expect(report.summary).toMatch(says);
  });

  it('in 30 situations or more, 12 of which were losses without a word', () => {
    expect(SITUATIONS.length).toBeGreaterThanOrEqual(30);
    expect(SITUATIONS.filter(({ wasGreen }) => wasGreen).length).toBeGreaterThanOrEqual(12);
  });
});
