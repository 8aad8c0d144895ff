/** The truth table: what Leadtap may claim in each situation. The claims were written down first. */
import type { Lead } from '@leadtap/contract';
import { expect, vi } from 'vitest';
import type { HookProgress } from '../../../src/hooks/store.ts';
import { storedHook, subscribe } from '../../hooks/support/hooks.ts';
import { type Claims, DAY_MS, HOUR_MS, iso, MINUTE_MS, type World } from './world.ts';

export interface Situation {
  readonly name: string;
  readonly env?: Record<string, string>;
  setUp(world: World): Promise<unknown>;
  readonly claims: Partial<Claims> & Pick<Claims, 'light' | 'summary'>;
}

/** A webhook that sends leads; its receiver has answered as given, and no more is sent. */
async function leadHook(
  world: World,
  name: string,
  progress: Partial<HookProgress> = {},
  expiresInMs = 90 * DAY_MS,
) {
  const { service, clock, receiver } = world;
  const token = await world.token(name, 'boss', { expiresInMs });
  // A refused connection would be tried again in the time of the machine.
  const { id } = await subscribe(service, token, `${receiver.origin}/never-due`, undefined, 'lead');
  const claimed = await storedHook(service, id);
  const sent = { lastEventAt: clock(), lastStatus: 200, notBefore: Date.UTC(2100, 0), checkAt: null };
  await service.store.hooks.settle([{ claimed, progress: { ...claimed, ...sent, ...progress } }]);
  return id;
}

/** One lead, which came so long before. */
async function importHistory(world: World, beforeMs: number): Promise<void> {
  const createdAt = world.clock() - beforeMs;
  const { store } = world.service;
  await store.writeLeads([{ companyId: 'acme', id: 'old', createdAt, fields: {} }], { historical: true });
  world.lead = { id: 'old', companyId: 'acme' };
}

/** As a platform does when its automation is deleted. */
const deleteHook = ({ service }: World, id: string) =>
  fetch(`${service.url}/automation/hooks/${id}`, { method: 'DELETE' });

export const SITUATIONS: readonly Situation[] = [
  {
    name: 'nothing: no lead, no automation',
    setUp: async () => undefined,
    claims: { light: 'grey', summary: 'No problem was found. No consumer has polled yet.' },
  },
  {
    name: 'no lead yet, one automation',
    setUp: (world) => world.established('make'),
    claims: {
      light: 'green',
      summary: 'No lead yet. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'one lead, sent and confirmed',
    async setUp(world) {
      const make = await world.established('make');
      await world.send();
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'confirmed' },
    },
  },
  {
    name: 'an automation that polled three times in a quarter of an hour has stopped, and a lead waits for two days',
    async setUp(world) {
      const make = await world.client('make');
      await make.polls(3, 7 * MINUTE_MS);
      await world.send();
      world.clock.advance(2 * DAY_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      problems: ['consumers-stale error'],
      summary: 'make (user boss) has not polled for 2 days; it usually polls every 7 min; 1 lead waits.',
      consumers: { make: 'stale error consumers-stale' },
      alerts: [
        'error: make (user boss) has not polled for 2 days; it usually polls every 7 min; 1 lead waits.',
      ],
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'a token was tried three times in some minutes, with the same since, and two leads wait for two hours',
    async setUp(world) {
      const make = await world.client('make');
      await world.send();
      for (let count = 0; count < 3; count += 1) {
        await make.poll(`since=${iso(world.clock() - DAY_MS)}`);
        world.clock.advance(2 * MINUTE_MS);
      }
      await world.send(2);
      world.clock.advance(2 * HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      problems: ['leads-waiting error'],
      summary: '2 leads wait for make (user boss), the oldest for 2 h; its last poll was 2 h 2 min ago.',
      consumers: { make: 'active error leads-waiting' },
      lead: { make: 'waiting' },
      alerts: [
        'error: 2 leads wait for make (user boss), the oldest for 2 h; its last poll was 2 h 2 min ago.',
      ],
    },
  },
  {
    name: 'the only automation polled twice, and a lead waits for 20 hours',
    async setUp(world) {
      const make = await world.client('make');
      await make.polls(2, 15 * MINUTE_MS);
      await world.send();
      world.clock.advance(20 * HOUR_MS);
    },
    claims: {
      light: 'grey',
      summary:
        '0 of 1 lead since Monday reached an automation. 1 waits for make. The oldest lead has waited for 20 h. The only consumer is new: its usual interval is not known yet.',
      consumers: { make: 'active good' },
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'one lead, sent and not confirmed',
    async setUp(world) {
      const zapier = await world.client('zapier');
      await world.send();
      for (let count = 0; count < 7; count += 1) {
        await zapier.poll('limit=100');
        world.clock.advance(2 * MINUTE_MS);
      }
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { zapier: 'active good' },
      lead: { zapier: 'delivered' },
    },
  },
  {
    name: 'one lead of two waits for the next poll',
    async setUp(world) {
      const make = await world.established('make');
      await world.send();
      await make.next();
      await world.send();
      world.clock.advance(MINUTE_MS);
    },
    claims: {
      light: 'green',
      summary:
        '1 of 2 leads since Monday reached an automation. 1 waits for make. No lead waits longer than usual. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'no automation at all: 5 leads',
    setUp: (world) => world.send(5),
    claims: {
      light: 'amber',
      summary: '5 leads since Monday: no automation of Acme.',
      problems: ['leads-unseen warning'],
      alerts: ['warning: 5 leads since Monday: no automation of Acme.'],
    },
  },
  {
    name: 'a company without an automation, beside one that has every lead',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(3);
      await make.next();
      await world.send(5, 'rival');
    },
    claims: {
      light: 'amber',
      summary: '5 leads since Monday: no automation of Globex.',
      problems: ['leads-unseen warning'],
      consumers: { make: 'active good' },
      alerts: ['warning: 5 leads since Monday: no automation of Globex.'],
    },
  },
  {
    name: 'a branch that no automation may see',
    async setUp(world) {
      const north = await world.established('north', 'north-lead');
      await world.send({ branchId: 'north' });
      for (let count = 0; count < 9; count += 1) await world.send({ branchId: 'south' });
      await north.next();
    },
    claims: {
      light: 'amber',
      summary: '9 leads since Monday: no automation may see branch South of Acme.',
      problems: ['leads-unseen warning'],
      consumers: { north: 'active good' },
      alerts: ['warning: 9 leads since Monday: no automation may see branch South of Acme.'],
    },
  },
  {
    name: 'a token with a webhook for events has never polled',
    async setUp(world) {
      const token = await world.token('zapier', 'boss');
      await subscribe(world.service, token, world.receiver.url);
      world.clock.advance(1000);
      await world.send();
      await world.receiver.event(1);
      world.clock.advance(2 * HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      alerts: [
        'error: 1 lead waits for zapier (user boss), the oldest for 2 h; it accepts webhook events, but has never polled.',
      ],
      summary:
        '1 lead waits for zapier (user boss), the oldest for 2 h; it accepts webhook events, but has never polled.',
      problems: ['leads-waiting error'],
      consumers: { zapier: 'subscribed error leads-waiting' },
      lead: { zapier: 'waiting' },
    },
  },
  {
    name: 'an automation broke after an hour; 7 leads wait for 20 hours',
    async setUp(world) {
      await world.established('make', 'boss', 10 * MINUTE_MS);
      await world.send(7);
      world.clock.advance(20 * HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'make (user boss) has not polled for 20 h; it usually polls every 10 min; 7 leads wait.',
      problems: ['consumers-stale error'],
      consumers: { make: 'stale error consumers-stale' },
      lead: { make: 'waiting' },
      alerts: [
        'error: make (user boss) has not polled for 20 h; it usually polls every 10 min; 7 leads wait.',
      ],
    },
  },
  {
    name: 'one automation broke, another has every lead',
    async setUp(world) {
      await world.established('make', 'boss', 10 * MINUTE_MS);
      await world.send(2);
      world.clock.advance(20 * HOUR_MS);
      const zapier = await world.client('zapier');
      await zapier.poll('since=2026-01-01');
      await zapier.polls(7);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'make (user boss) has not polled for 20 h 12 min; it usually polls every 10 min; 2 leads wait.',
      problems: ['consumers-stale error'],
      consumers: { make: 'stale error consumers-stale', zapier: 'active good' },
      lead: { make: 'waiting', zapier: 'confirmed' },
      alerts: [
        'error: make (user boss) has not polled for 20 h 12 min; it usually polls every 10 min; 2 leads wait.',
      ],
    },
  },
  {
    name: 'a webhook has failed for two days',
    async setUp(world) {
      const failingSince = world.clock() + 1000;
      await leadHook(world, 'n8n', {
        failures: 30,
        failingSince,
        lastStatus: 500,
        lastEventAt: failingSince,
      });
      world.clock.advance(1000);
      await world.send();
      world.clock.advance(2 * DAY_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'n8n → HOST (user boss): its webhook has accepted no leads for 2 days: it answered with 500; 1 lead waits.',
      problems: ['hooks-failing error'],
      consumers: { 'n8n →': 'subscribed error hooks-failing' },
      lead: { n8n: 'waiting' },
      alerts: [
        'error: n8n → HOST (user boss): its webhook has accepted no leads for 2 days: it answered with 500; 1 lead waits.',
      ],
    },
  },
  {
    name: 'a webhook was answered with 410',
    async setUp(world) {
      await leadHook(world, 'n8n', {
        failures: 1,
        failingSince: world.clock(),
        lastStatus: 410,
        disabledAt: world.clock(),
      });
      world.clock.advance(1000);
      await world.send();
      world.clock.advance(HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'n8n → HOST (user boss): its webhook is disabled: it answered with 410; 1 lead waits.',
      problems: ['hooks-disabled error'],
      consumers: { 'n8n →': 'stale error hooks-disabled' },
      lead: { n8n: 'waiting' },
      alerts: ['error: n8n → HOST (user boss): its webhook is disabled: it answered with 410; 1 lead waits.'],
    },
  },
  {
    name: 'the token of a webhook has expired, and a lead waits',
    async setUp(world) {
      await leadHook(world, 'n8n', {}, HOUR_MS);
      world.clock.advance(2 * HOUR_MS);
      await world.send();
      world.clock.advance(HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { 'n8n →': 'stale error token-revoked-in-use' },
      alerts: [
        'error: n8n → HOST (user boss): its token expired on 2026-03-02: 1 lead waits, and none is sent.',
      ],
      summary: 'n8n → HOST (user boss): its token expired on 2026-03-02: 1 lead waits, and none is sent.',
      problems: ['token-revoked-in-use error'],
      lead: { n8n: 'waiting' },
    },
  },
  {
    name: 'this service may not send to the host of a webhook any more',
    env: { LEADTAP_HOOK_HOSTS: 'hooks.example.com' },
    async setUp(world) {
      const { service, receiver, clock } = world;
      const tokenExpiresAt = clock() + 90 * DAY_MS;
      await world.token('n8n', 'boss');
      await service.store.hooks.subscribe(
        {
          ...{ id: 'a'.repeat(22), userId: 'boss', tokenId: 'n8n', url: receiver.url, send: 'lead' },
          ...{ baseUrl: service.url, since: undefined, tokenExpiresAt },
        },
        20,
      );
      clock.advance(1000);
      await world.send();
      clock.advance(2 * HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { 'n8n →': 'subscribed error leads-waiting' },
      alerts: [
        'error: 1 lead waits for n8n → HOST (user boss), the oldest for 2 h; this service may not send to HOST: LEADTAP_HOOK_HOSTS.',
      ],
      summary:
        '1 lead waits for n8n → HOST (user boss), the oldest for 2 h; this service may not send to HOST: LEADTAP_HOOK_HOSTS.',
      problems: ['leads-waiting error'],
      lead: { n8n: 'waiting' },
    },
  },
  {
    name: 'webhooks were switched off, and a lead waits for one that has accepted another',
    async setUp(world) {
      const hook = await world.sendingHook('n8n');
      await world.send();
      await world.accepted(hook, 1);
      world.env = { LEADTAP_HOOKS: 'off' };
      await world.restart(MINUTE_MS);
      await world.send();
      world.clock.advance(2 * HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { 'n8n →': 'active error leads-waiting' },
      alerts: [
        'error: 1 lead waits for n8n → HOST (user boss), the oldest for 2 h; webhooks are switched off (LEADTAP_HOOKS).',
      ],
      summary:
        '1 lead waits for n8n → HOST (user boss), the oldest for 2 h; webhooks are switched off (LEADTAP_HOOKS).',
      problems: ['leads-waiting error'],
      lead: { n8n: 'waiting' },
    },
  },
  {
    name: 'webhooks were switched off after one had accepted every lead',
    async setUp(world) {
      const hook = await world.sendingHook('n8n');
      await world.send();
      await world.accepted(hook, 1);
      world.env = { LEADTAP_HOOKS: 'off' };
      await world.restart(MINUTE_MS);
    },
    claims: {
      light: 'grey',
      consumers: { 'n8n →': 'active unknown' },
      summary:
        'The only lead since Monday reached an automation. 1 webhook is not sent new leads: LEADTAP_HOOKS or LEADTAP_HOOK_HOSTS of this service.',
      lead: { n8n: 'confirmed' },
    },
  },
  {
    name: 'the token of an automation has expired, and a lead waits',
    async setUp(world) {
      const make = await world.client('make', 'boss', { expiresInMs: HOUR_MS });
      await make.polls(7);
      world.clock.advance(HOUR_MS);
      await world.send();
      world.clock.advance(HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { make: 'stale error consumers-stale' },
      alerts: [
        'error: make (user boss) has not polled for 2 h; its token expired 1 h 12 min ago; 1 lead waits.',
      ],
      summary: 'make (user boss) has not polled for 2 h; its token expired 1 h 12 min ago; 1 lead waits.',
      problems: ['consumers-stale error'],
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'an expired token is still used',
    async setUp(world) {
      const make = await world.client('make', 'boss', { expiresInMs: HOUR_MS });
      await make.polls(7);
      await world.send();
      world.clock.advance(HOUR_MS);
      expect(await make.next()).toBe(401);
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { make: 'active error token-revoked-in-use' },
      alerts: [
        'error: make (user boss) polls with a token that has expired: its requests are refused (401).',
      ],
      summary: 'make (user boss) polls with a token that has expired: its requests are refused (401).',
      problems: ['token-revoked-in-use error'],
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'a revoked token is still used',
    async setUp(world) {
      const make = await world.established('make');
      await world.command('token revoke make');
      await world.send();
      world.clock.advance(2 * MINUTE_MS);
      expect(await make.next()).toBe(401);
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { make: 'active error token-revoked-in-use' },
      alerts: [
        'error: make (user boss) polls with a token that was revoked: its requests are refused (401).',
      ],
      summary: 'make (user boss) polls with a token that was revoked: its requests are refused (401).',
      problems: ['token-revoked-in-use error'],
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'a token was revoked and is not used any more; leads come',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(4);
      await make.polls(2);
      await world.command('token revoke make');
      await world.send(3);
      world.clock.advance(DAY_MS);
    },
    claims: {
      light: 'amber',
      summary: '3 leads since Monday: no automation of Acme.',
      problems: ['leads-unseen warning'],
      alerts: ['warning: 3 leads since Monday: no automation of Acme.'],
    },
  },
  {
    name: 'a token was replaced by another one without a gap',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(4);
      await make.polls(2);
      const since = world.clock();
      await world.command('token revoke make');
      const zapier = await world.client('zapier');
      await zapier.poll(`since=${iso(since)}`);
      await zapier.polls(7);
    },
    claims: {
      light: 'green',
      summary: 'All 4 leads since Monday reached an automation. The only consumer polls as usual.',
      consumers: { zapier: 'active good' },
      lead: { make: 'delivered', zapier: 'skipped' },
    },
  },
  {
    name: 'a token that had received leads was renewed and then revoked',
    async setUp(world) {
      const zap = await world.established('zap');
      await world.send();
      await zap.polls(2);
      const since = world.clock();
      world.clock.advance(MINUTE_MS);
      const renewed = await world.client('zap-renewed');
      await renewed.poll(`since=${iso(since)}`);
      await world.send();
      await renewed.polls(7);
      await world.command('token revoke zap');
    },
    claims: {
      light: 'green',
      summary: 'All 2 leads since Monday reached an automation. The only consumer polls as usual.',
      consumers: { 'zap-renewed': 'active good' },
      lead: { 'zap-renewed': 'confirmed' },
    },
  },
  {
    name: 'three leads came between two automations',
    async setUp(world) {
      await world.established('make');
      await world.command('token revoke make');
      world.clock.advance(MINUTE_MS);
      await world.send(3);
      world.clock.advance(MINUTE_MS);
      await world.established('zapier');
    },
    claims: {
      light: 'amber',
      summary: '3 leads since Monday came in while no automation could see leads of Acme.',
      problems: ['leads-unseen warning'],
      consumers: { zapier: 'active good' },
      lead: { zapier: 'skipped' },
      alerts: ['warning: 3 leads since Monday came in while no automation could see leads of Acme.'],
    },
  },
  {
    name: 'the user of an automation was removed; leads come',
    async setUp(world) {
      await world.established('make');
      await world.command('user remove boss');
      await world.send({ branchId: 'north' }, 'north-lead');
      world.clock.advance(DAY_MS);
    },
    claims: {
      light: 'amber',
      summary: '1 lead since Monday: no automation of Acme.',
      problems: ['leads-unseen warning'],
      alerts: ['warning: 1 lead since Monday: no automation of Acme.'],
    },
  },
  {
    name: 'the plan of a user has ended, whose automation still polls',
    async setUp(world) {
      const make = await world.established('make');
      await world.command('user set boss --plan STARTER');
      await world.send();
      world.clock.advance(2 * MINUTE_MS);
      expect(await make.next()).toBe(403);
    },
    claims: {
      light: 'amber',
      consumers: { make: 'active' },
      alerts: [
        'warning: make (user boss) polls, but is refused: the Professional plan is required (403 professional-plan-required).',
      ],
      summary:
        'make (user boss) polls, but is refused: the Professional plan is required (403 professional-plan-required).',
      problems: ['consumers-refused warning'],
      lead: { make: 'waiting' },
    },
  },
  {
    name: 'an automation asks with the time of its own clock',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(2);
      for (let count = 0; count < 3; count += 1) {
        world.clock.advance(2 * MINUTE_MS);
        await make.poll(`since=${iso(world.clock())}`);
      }
    },
    claims: {
      light: 'red',
      healthy: false,
      consumers: { make: 'active error leads-skipped' },
      alerts: [
        'error: make (user boss) has skipped 2 leads: it asked for what comes after, so they were never sent to it.',
      ],
      summary:
        'make (user boss) has skipped 2 leads: it asked for what comes after, so they were never sent to it.',
      problems: ['leads-skipped error'],
      lead: { make: 'skipped' },
    },
  },
  {
    name: 'an automation skipped leads two weeks ago, and no one sent them again',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(2);
      for (let count = 0; count < 20; count += 1) {
        world.clock.advance(DAY_MS);
        await make.poll(`since=${iso(world.clock())}`);
      }
    },
    claims: {
      light: 'grey',
      consumers: { make: 'active good' },
      summary:
        '0 of 2 leads of the last 30 days reached an automation. 2 were skipped. The only consumer polls as usual.',
      lead: { make: 'skipped' },
    },
  },
  {
    name: 'an automation polls and sends the same since again and again',
    async setUp(world) {
      const make = await world.established('make');
      const since = iso(world.clock());
      await world.send(3);
      for (let count = 0; count < 60; count += 1) {
        world.clock.advance(2 * MINUTE_MS);
        await make.poll(`since=${since}`);
      }
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'make (user boss) has received leads and does not confirm them, the oldest for 2 h: it polls from the same place again and again.',
      problems: ['leads-waiting error'],
      consumers: { make: 'active error leads-waiting' },
      lead: { make: 'delivered' },
      alerts: [
        'error: make (user boss) has received leads and does not confirm them, the oldest for 2 h: it polls from the same place again and again.',
      ],
    },
  },
  {
    name: 'two clients share a token, and one of them is behind',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(2);
      for (let count = 0; count < 3; count += 1) {
        world.clock.advance(2 * MINUTE_MS);
        await make.next();
        await make.poll('since=2026-03-01T00:00:00Z');
      }
    },
    claims: {
      light: 'green',
      consumers: { make: 'active good' },
      summary: 'All 2 leads since Monday reached an automation. The only consumer polls as usual.',
      lead: { make: 'confirmed' },
    },
  },
  {
    name: 'the service itself was down for an hour',
    async setUp(world) {
      await world.established('make');
      await world.restart(HOUR_MS);
      world.clock.advance(40_000);
    },
    claims: {
      light: 'grey',
      healthy: null,
      consumers: { make: 'active unknown consumers-awaited' },
      summary: 'The service was down for 1 h, until 40 s ago: waiting for 1 consumer to poll.',
      problems: ['consumers-awaited unknown'],
    },
  },
  {
    name: 'polls were not recorded for an hour, and are again',
    async setUp(world) {
      await world.established('make');
      world.env = { LEADTAP_CONSUMERS: 'off' };
      await world.restart(0);
      world.clock.advance(HOUR_MS);
      world.env = { LEADTAP_CONSUMERS: 'on' };
      await world.restart(0);
      world.clock.advance(40_000);
    },
    claims: {
      light: 'grey',
      healthy: null,
      consumers: { make: 'active unknown consumers-awaited' },
      summary:
        'Polls were not recorded (LEADTAP_CONSUMERS=off) for 1 h, until 40 s ago: waiting for 1 consumer to poll.',
      problems: ['consumers-awaited unknown'],
    },
  },
  {
    name: 'polls were not recorded while leads were sent, and are again',
    async setUp(world) {
      const zapier = await world.client('zapier');
      await world.send();
      for (let count = 0; count < 7; count += 1) {
        await zapier.poll('limit=1');
        world.clock.advance(2 * MINUTE_MS);
      }
      world.env = { LEADTAP_CONSUMERS: 'off' };
      await world.restart(0);
      for (let count = 0; count < 3; count += 1) {
        await world.send();
        await zapier.poll('limit=1');
        world.clock.advance(2 * MINUTE_MS);
      }
      world.env = { LEADTAP_CONSUMERS: 'on' };
      await world.restart(0);
      await zapier.poll('limit=1');
    },
    claims: {
      light: 'green',
      summary: 'All 4 leads since Monday reached an automation. The only consumer polls as usual.',
      consumers: { zapier: 'active good' },
      lead: { zapier: 'delivered' },
    },
  },
  {
    name: 'an automation has not polled since before polls were not recorded for a time',
    async setUp(world) {
      await world.established('make');
      world.env = { LEADTAP_CONSUMERS: 'off' };
      await world.restart(0);
      await world.send(2);
      world.clock.advance(HOUR_MS);
      world.env = { LEADTAP_CONSUMERS: 'on' };
      await world.restart(0);
      world.clock.advance(HOUR_MS);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'make (user boss) has no recorded poll for 2 h, for a part of which LEADTAP_CONSUMERS was off; it usually polls every 2 min; up to 2 leads wait.',
      problems: ['consumers-stale error'],
      consumers: { make: 'stale error consumers-stale' },
      lead: { make: 'waiting' },
      alerts: [
        'error: make (user boss) has no recorded poll for 2 h, for a part of which LEADTAP_CONSUMERS was off; it usually polls every 2 min; up to 2 leads wait.',
      ],
    },
  },
  {
    name: 'the clock was set back by an hour',
    async setUp(world) {
      const make = await world.established('make');
      await world.send();
      await make.next();
      world.clock.advance(-HOUR_MS);
    },
    claims: {
      light: 'amber',
      healthy: null,
      lead: { make: 'delivered' },
      consumers: { make: 'active unknown consumers-awaited' },
      alerts: ['warning: The newest lead is dated 1 h ahead of the clock.'],
      summary:
        'The newest lead is dated 1 h ahead of the clock. The clock was set back since the last polls: waiting for 1 consumer to poll.',
      problems: ['consumers-awaited unknown', 'stamps-ahead warning'],
    },
  },
  {
    name: 'the database is down',
    async setUp(world) {
      await world.established('make');
      vi.spyOn(world.service.store, 'status').mockRejectedValue(new Error('the disk is on fire'));
    },
    claims: {
      light: 'red',
      healthy: false,
      alerts: ['error: The database is unreachable: polls are answered with 503.'],
      summary: 'The database is unreachable: polls are answered with 503.',
      problems: ['database-unreachable error'],
    },
  },
  {
    name: 'the database was down, and is back',
    async setUp(world) {
      const make = await world.established('make');
      const since = world.clock();
      world.clock.advance(10 * MINUTE_MS);
      await world.service.store.consumers.recordDowntime(world.clock(), since);
      await make.next();
    },
    claims: {
      light: 'green',
      summary: 'No lead yet. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'a lead that waited was erased',
    async setUp(world) {
      const make = await world.established('make');
      await world.send();
      await world.command(`leads erase ${world.lead?.id} --yes`);
      await make.next();
    },
    claims: {
      light: 'green',
      consumers: { make: 'active good' },
      summary: 'No new lead of the last 30 days is stored. The only consumer polls as usual.',
      lead: { none: 'there is no such lead' },
    },
  },
  {
    name: 'the access of a user was narrowed; a lead comes for another branch',
    async setUp(world) {
      const make = await world.established('make');
      await world.command('user set boss --access-level BRANCH --branch north');
      await world.send({ branchId: 'south' }, 'starter');
      await make.polls(2);
    },
    claims: {
      light: 'amber',
      summary: '1 lead since Monday: no automation may see branch South of Acme.',
      problems: ['leads-unseen warning'],
      consumers: { make: 'active good' },
      alerts: ['warning: 1 lead since Monday: no automation may see branch South of Acme.'],
    },
  },
  {
    name: 'the access of a user was narrowed after an automation had received every lead',
    async setUp(world) {
      const make = await world.established('make');
      await world.send({ branchId: 'south' });
      await make.polls(2);
      await world.command('user set boss --access-level BRANCH --branch north');
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'confirmed' },
    },
  },
  {
    name: 'the access of a user was narrowed after a webhook had sent every lead, and a lead comes',
    async setUp(world) {
      const hook = await world.sendingHook('n8n');
      world.clock.advance(1000);
      await world.send({ branchId: 'south' });
      await world.accepted(hook, 1);
      const { lead } = world;
      await world.command('user set boss --access-level BRANCH --branch north');
      world.clock.advance(1000);
      await world.send({ branchId: 'north' }, 'north-lead');
      await world.accepted(hook, 2);
      world.lead = lead;
    },
    claims: {
      light: 'green',
      summary: 'All 2 leads since Monday reached an automation. 1 webhook accepts leads.',
      consumers: { 'n8n →': 'active good' },
      lead: { n8n: 'confirmed' },
    },
  },
  {
    name: 'an automation that polls without since got every lead of one branch, then every lead of another one',
    async setUp(world) {
      const make = await world.client('make', 'north-lead');
      await world.send({ branchId: 'north' });
      const { lead } = world;
      world.clock.advance(1000);
      await world.send({ branchId: 'south' });
      await make.poll('');
      await world.command('user set north-lead --access-level BRANCH --branch south');
      world.clock.advance(1000);
      await make.poll('');
      world.lead = lead;
    },
    claims: {
      light: 'green',
      summary: 'All 2 leads since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'delivered' },
    },
  },
  {
    name: 'the access of a user was widened after a lead of another branch and 120 of its own',
    async setUp(world) {
      const north = await world.established('north', 'north-lead');
      await world.send({ branchId: 'south' });
      const { lead } = world;
      world.clock.advance(1000);
      await world.service.add(...Array.from({ length: 120 }, () => ({ branchId: 'north' })));
      await north.polls(2);
      await world.command('user set north-lead --access-level COMPANY');
      await north.polls(2);
      world.clock.advance(8 * DAY_MS);
      await north.polls(2);
      world.lead = lead;
    },
    claims: {
      light: 'grey',
      summary:
        '120 of 121 leads of the last 30 days reached an automation. 1 was skipped. The only consumer polls as usual.',
      consumers: { north: 'active good' },
      lead: { north: 'skipped' },
    },
  },
  {
    name: 'an automation found nothing, then the access of its user was narrowed, and it got what it may see',
    async setUp(world) {
      const make = await world.client('make', 'north-lead');
      await make.poll('');
      await world.send({ branchId: 'north' });
      await world.command('user set north-lead --access-level DEPARTMENT --department sales');
      world.clock.advance(1000);
      await world.send({ departmentId: 'sales' });
      await make.poll('');
    },
    claims: {
      light: 'amber',
      summary:
        '1 lead since Monday: no automation may see leads without a department of branch North of Acme.',
      problems: ['leads-unseen warning'],
      consumers: { make: 'active good' },
      lead: { make: 'delivered' },
      alerts: [
        'warning: 1 lead since Monday: no automation may see leads without a department of branch North of Acme.',
      ],
    },
  },
  {
    name: 'the access of a user was narrowed between two polls that are written together',
    async setUp(world) {
      await world.established('make');
      await world.send({ branchId: 'south' });
      const authorization = `Bearer ${await world.token('make', 'boss')}`;
      const poll = async () => {
        const url = `${world.service.url}/automation/new-leads?since=${iso(world.clock() - 1000)}`;
        const leads = (await (await fetch(url, { headers: { authorization } })).json()) as Lead[];
        world.clock.advance(2000);
        return leads.length;
      };
      expect(await poll()).toBe(1);
      await world.command('user set boss --access-level BRANCH --branch north');
      expect(await poll()).toBe(0);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'confirmed' },
    },
  },
  {
    name: 'an automation skipped a lead with its own clock, then the access of its user was narrowed',
    async setUp(world) {
      const make = await world.established('make');
      await world.send({ branchId: 'south' });
      const { lead } = world;
      world.clock.advance(1000);
      await make.poll(`since=${iso(world.clock())}`);
      await world.command('user set boss --access-level BRANCH --branch north');
      world.clock.advance(MINUTE_MS);
      await make.poll(`since=${iso(world.clock())}`);
      world.clock.advance(1000);
      await world.send({ branchId: 'north' });
      await make.next();
      world.lead = lead;
    },
    claims: {
      light: 'grey',
      summary:
        '1 of 2 leads since Monday reached an automation. 1 was skipped. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'leads were deleted before the automation got them',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(3);
      world.clock.advance(2 * DAY_MS);
      const { stdout } = await world.command('leads prune --older-than 1d --yes');
      expect(stdout).toBe('3 leads deleted\n');
      await make.polls(7);
    },
    claims: {
      light: 'green',
      consumers: { make: 'active good' },
      summary: 'No new lead of the last 30 days is stored. The only consumer polls as usual.',
      lead: { none: 'there is no such lead' },
    },
  },
  {
    name: 'imported history, of which an automation gets nothing',
    async setUp(world) {
      await world.established('make');
      await importHistory(world, 5 * DAY_MS);
    },
    claims: {
      light: 'green',
      consumers: { make: 'active good' },
      summary: 'No new lead of the last 30 days is stored. The only consumer polls as usual.',
      lead: { make: 'skipped' },
    },
  },
  {
    name: 'imported history that an automation got in a page, and confirmed',
    async setUp(world) {
      const make = await world.established('make');
      world.clock.advance(MINUTE_MS);
      await importHistory(world, 1000);
      world.clock.advance(MINUTE_MS);
      await make.polls(2);
      const { lead } = world;
      await world.send();
      await make.polls(2);
      world.lead = lead;
    },
    claims: {
      light: 'green',
      consumers: { make: 'active good' },
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      lead: { make: 'confirmed' },
    },
  },
  {
    name: 'imported history that a webhook has sent, and its receiver accepted',
    async setUp(world) {
      const hook = await world.sendingHook('n8n');
      world.clock.advance(MINUTE_MS);
      await importHistory(world, 1000);
      await world.accepted(hook, 1);
      const { lead } = world;
      world.clock.advance(MINUTE_MS);
      await world.send();
      await world.accepted(hook, 2);
      world.lead = lead;
    },
    claims: {
      light: 'green',
      consumers: { 'n8n →': 'active good' },
      summary: 'The only lead since Monday reached an automation. 1 webhook accepts leads.',
      lead: { n8n: 'confirmed' },
    },
  },
  {
    name: 'leads came before the first automation was connected',
    async setUp(world) {
      await world.send(3);
      world.clock.advance(MINUTE_MS);
      const make = await world.established('make');
      await world.send();
      await make.polls(2);
    },
    claims: {
      light: 'grey',
      consumers: { make: 'active good' },
      summary:
        '1 lead since Monday reached an automation. 3 came in before an automation was connected. The only consumer polls as usual.',
      lead: { make: 'confirmed' },
    },
  },
  {
    name: 'a stopped automation was forgotten',
    async setUp(world) {
      await world.established('make');
      await world.send();
      world.clock.advance(DAY_MS);
      await world.command('consumers forget make');
    },
    claims: {
      light: 'amber',
      alerts: ['warning: 1 lead since Monday waited for an automation that was removed: leads of Acme.'],
      summary: '1 lead since Monday waited for an automation that was removed: leads of Acme.',
      problems: ['leads-unseen warning'],
    },
  },
  {
    name: 'an automation that had every lead was forgotten, and another one was connected',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(3);
      await make.polls(2);
      await world.command('consumers forget make');
      world.clock.advance(MINUTE_MS);
      await world.established('zapier');
    },
    claims: {
      light: 'green',
      summary: 'All 3 leads since Monday reached an automation. The only consumer polls as usual.',
      consumers: { zapier: 'active good' },
      lead: { make: 'delivered', zapier: 'skipped' },
    },
  },
  {
    name: 'the access of a user was widened after an automation that had every lead was forgotten',
    async setUp(world) {
      const north = await world.established('north', 'north-lead');
      await world.send({ branchId: 'north' });
      await north.polls(2);
      await world.command('consumers forget north');
      await world.command('user set north-lead --access-level COMPANY');
      world.clock.advance(MINUTE_MS);
      await world.established('zapier', 'north-lead');
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { zapier: 'active good' },
      lead: { north: 'delivered', zapier: 'skipped' },
    },
  },
  {
    name: 'a webhook was deleted while leads waited, and another one was subscribed',
    async setUp(world) {
      const id = await leadHook(world, 'n8n');
      world.clock.advance(1000);
      await world.send(2);
      world.clock.advance(1000);
      expect((await deleteHook(world, id)).status).toBe(204);
      world.clock.advance(1000);
      await leadHook(world, 'zapier');
    },
    claims: {
      light: 'amber',
      summary: '2 leads since Monday waited for an automation that was removed: leads of Acme.',
      problems: ['leads-unseen warning'],
      consumers: { 'zapier →': 'active good' },
      alerts: ['warning: 2 leads since Monday waited for an automation that was removed: leads of Acme.'],
    },
  },
  {
    name: 'a webhook was deleted after it had sent every lead',
    async setUp(world) {
      const hook = await world.sendingHook('n8n');
      world.clock.advance(1000);
      await world.send(2);
      await world.accepted(hook, 2);
      expect((await deleteHook(world, hook.id)).status).toBe(204);
      world.clock.advance(1000);
      await leadHook(world, 'zapier');
    },
    claims: {
      light: 'green',
      summary: 'All 2 leads since Monday reached an automation. 1 webhook accepts leads.',
      lead: { webhook: 'delivered' },
      consumers: { 'zapier →': 'active good' },
    },
  },
  {
    name: 'the token of a webhook was revoked after it had sent every lead, and leads come',
    async setUp(world) {
      const hook = await world.sendingHook('n8n');
      world.clock.advance(1000);
      await world.send(2);
      await world.accepted(hook, 2);
      await world.command('token revoke n8n');
      world.clock.advance(1000);
      await world.send();
      world.clock.advance(1000);
    },
    claims: {
      light: 'amber',
      summary: '1 lead since Monday: no automation of Acme.',
      problems: ['leads-unseen warning'],
      alerts: ['warning: 1 lead since Monday: no automation of Acme.'],
    },
  },
  {
    name: 'the user of an automation that had every lead was removed, and one lead waited',
    async setUp(world) {
      const make = await world.established('make', 'boss');
      await world.send(3);
      await make.polls(2);
      world.clock.advance(1000);
      await world.send();
      world.clock.advance(1000);
      await world.command('user remove boss');
      world.clock.advance(1000);
      await world.established('north', 'north-lead');
    },
    claims: {
      light: 'amber',
      summary:
        '1 lead since Monday waited for an automation that was removed: leads of Acme without a branch.',
      problems: ['leads-unseen warning'],
      consumers: { north: 'active good' },
      alerts: [
        'warning: 1 lead since Monday waited for an automation that was removed: leads of Acme without a branch.',
      ],
    },
  },
  {
    name: 'the user of an automation that had every lead was removed',
    async setUp(world) {
      const make = await world.established('make');
      await world.send(3);
      await make.polls(2);
      await world.command('user remove boss');
      world.clock.advance(DAY_MS);
      await world.established('north', 'north-lead');
    },
    claims: {
      light: 'green',
      summary: 'All 3 leads since Monday reached an automation. The only consumer polls as usual.',
      lead: { make: 'delivered' },
      consumers: { north: 'active good' },
    },
  },
  {
    name: 'consumers are not recorded',
    env: { LEADTAP_CONSUMERS: 'off' },
    async setUp(world) {
      await world.send();
      await world.service.poll('boss');
    },
    claims: {
      light: 'grey',
      healthy: null,
      summary: 'No problem was found. Consumers are not recorded (LEADTAP_CONSUMERS=off).',
    },
  },
  {
    name: 'the alert address does not accept messages',
    async setUp(world) {
      world.alerts.status = 500;
      await world.send();
      await world.service.service.alerts?.check();
      world.alerts.texts.length = 0;
      world.alerts.status = 200;
    },
    claims: {
      light: 'amber',
      summary: '1 lead since Monday: no automation of Acme.',
      problems: ['leads-unseen warning'],
      alerts: ['warning: 1 lead since Monday: no automation of Acme.'],
    },
  },
  {
    name: 'a lead came in without a branch, and was then assigned to one',
    async setUp(world) {
      const north = await world.established('north', 'north-lead');
      const form = await world.token('form-of-boss', 'boss', { scopes: ['leads:write'] });
      const [id, other] = ['routed', 'later'];
      await world.post([{ id, firstName: 'Ada' }], form);
      world.clock.advance(1000);
      await world.post([{ id: other, branchId: 'north', firstName: 'Ada' }], form);
      await north.polls(2);
      await world.post([{ id, branchId: 'north', firstName: 'Ada' }], form);
      await north.polls(2);
      world.lead = { id, companyId: 'acme' };
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'north (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      problems: ['leads-skipped error'],
      consumers: { north: 'active error leads-skipped' },
      lead: { north: 'skipped' },
      alerts: [
        'error: north (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      ],
    },
  },
  {
    name: 'a lead came in without a branch, was assigned to one, and had reached another automation',
    async setUp(world) {
      const make = await world.established('make');
      const north = await world.established('north', 'north-lead');
      const form = await world.token('form-of-boss', 'boss', { scopes: ['leads:write'] });
      await world.post([{ id: 'routed', firstName: 'Ada' }], form);
      world.clock.advance(1000);
      await world.post([{ id: 'later', branchId: 'north', firstName: 'Ada' }], form);
      await north.polls(2);
      await make.polls(2);
      await world.post([{ id: 'routed', branchId: 'north', firstName: 'Ada' }], form);
      await north.polls(2);
      world.lead = { id: 'routed', companyId: 'acme' };
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'north (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      problems: ['leads-skipped error'],
      consumers: { make: 'active good', north: 'active error leads-skipped' },
      lead: { make: 'confirmed', north: 'skipped' },
      alerts: [
        'error: north (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      ],
    },
  },
  {
    name: 'the access of a user was widened after a lead of another branch',
    async setUp(world) {
      const north = await world.established('north', 'north-lead');
      await world.send({ branchId: 'south' });
      const { lead } = world;
      world.clock.advance(1000);
      await world.send({ branchId: 'north' });
      await north.polls(2);
      await world.command('user set north-lead --access-level COMPANY');
      world.lead = lead;
      await north.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'north (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      problems: ['leads-skipped error'],
      consumers: { north: 'active error leads-skipped' },
      lead: { north: 'skipped' },
      alerts: [
        'error: north (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      ],
    },
  },
  {
    name: 'the access of a user whose webhook sends leads was widened after a lead of another branch',
    async setUp(world) {
      const hook = await world.sendingHook('n8n', 'north-lead');
      world.clock.advance(1000);
      await world.send({ branchId: 'south' });
      const { lead } = world;
      world.clock.advance(1000);
      await world.send({ branchId: 'north' });
      await world.accepted(hook, 1);
      await world.command('user set north-lead --access-level COMPANY');
      world.lead = lead;
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'n8n → HOST (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      problems: ['leads-skipped error'],
      consumers: { 'n8n →': 'active error leads-skipped' },
      lead: { n8n: 'skipped' },
      alerts: [
        'error: n8n → HOST (user north-lead) may not have received 1 lead: it could not see it when it got later leads, because of a move or of its access level.',
      ],
    },
  },
  {
    name: 'refused at the door: a field that does not exist',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'] });
      for (let count = 0; count < 3; count += 1)
        expect((await world.post([{ vorname: `Ada ${count}` }], form)).status).toBe(422);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 3 requests were refused in the last 2 min, the last one 2 min ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 3 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 3 requests were refused in the last 2 min, the last one 2 min ago, with 422 invalid-lead: vorname.',
      ],
    },
  },
  {
    name: 'refused at the door: the token of a form has expired',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'], expiresInMs: HOUR_MS });
      expect((await world.post([{ firstName: 'Ada' }], form)).status).toBe(201);
      await make.polls(2);
      world.clock.advance(HOUR_MS);
      for (let count = 0; count < 15; count += 1)
        expect((await world.post([{ firstName: `Ada ${count}` }], form)).status).toBe(401);
      await make.polls(7);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 15 requests were refused in the last 12 min, the last one 12 min ago, with 401 token-expired. form (user boss): its token expired 14 min ago: what it sends is refused.',
      problems: ['leads-refused error', 'senders-expired error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 15 refused: token-expired ' },
      alerts: [
        'error: form (user boss): 15 requests were refused in the last 12 min, the last one 12 min ago, with 401 token-expired.',
      ],
    },
  },
  {
    name: 'refused at the door: the token may not send',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss');
      expect((await world.post([{ firstName: 'Ada' }], form)).status).toBe(403);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'form (user boss): 1 request was refused 2 min ago, with 403 insufficient-scope.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 1 refused: insufficient-scope ' },
      alerts: ['error: form (user boss): 1 request was refused 2 min ago, with 403 insufficient-scope.'],
    },
  },
  {
    name: 'refused at the door: a branch outside of the access level',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'north-lead', { scopes: ['leads:write'] });
      expect((await world.post([{ firstName: 'Ada', branchId: 'south' }], form)).status).toBe(422);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'form (user north-lead): 1 request was refused 2 min ago, with 422 invalid-lead: branchId.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 1 refused: invalid-lead branchId' },
      alerts: [
        'error: form (user north-lead): 1 request was refused 2 min ago, with 422 invalid-lead: branchId.',
      ],
    },
  },
  {
    name: 'refused at the door: a contact form without a way to reach the person',
    async setUp(world) {
      const make = await world.established('make');
      const issue = 'token issue --user boss --name form --scope leads:write --source typeform';
      const form = (await world.command(issue)).stdout.trim();
      const url = `${world.service.url}/leads`;
      const answers = [{ type: 'text', text: 'blue', field: { id: 'a', ref: 'colour' } }];
      const definition = { fields: [{ id: 'a', ref: 'colour', title: 'Which colour?' }] };
      const body = { event_id: '1', event_type: 'form_response', form_response: { answers, definition } };
      const headers = { authorization: `Bearer ${form}`, 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.status).toBe(422);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'form (user boss): 1 request was refused 2 min ago, with 422 no-contact.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 1 refused: no-contact other' },
      alerts: ['error: form (user boss): 1 request was refused 2 min ago, with 422 no-contact.'],
    },
  },
  {
    name: 'refused at the door, then accepted by the operator',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'] });
      expect((await world.post([{ vorname: 'Ada' }], form)).status).toBe(422);
      await world.service.service.refusedLeads.flush();
      const { code, stderr } = await world.command('leads refused accept --all --map vorname=firstName');
      expect([code, stderr]).toEqual([0, '']);
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'refused at the door: two requests are kept, and a larger one is not',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'] });
      for (const vorname of ['Ada', 'Ben', 'x'.repeat(65_536)])
        expect((await world.post([{ vorname }], form)).status).toBe(422);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 2 requests were refused in the last 2 min, the last one 2 min ago, with 422 invalid-lead: vorname; 1 more is not kept, the last one 2 min ago.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 3 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 2 requests were refused in the last 2 min, the last one 2 min ago, with 422 invalid-lead: vorname; 1 more is not kept, the last one 2 min ago.',
      ],
    },
  },
  {
    name: 'refused at the door: the kept requests were accepted by the operator, a larger one was not kept',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'] });
      for (const vorname of ['Ada', 'Ben', 'x'.repeat(65_536)])
        expect((await world.post([{ vorname }], form)).status).toBe(422);
      await world.service.service.refusedLeads.flush();
      const { code } = await world.command('leads refused accept --all --map vorname=firstName');
      expect(code).toBe(0);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 2 accepted, 3 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      ],
    },
  },
  {
    name: 'refused at the door, and deleted by the operator',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'] });
      expect((await world.post([{ vorname: 'Ada' }], form)).status).toBe(422);
      await world.service.service.refusedLeads.flush();
      expect((await world.command('leads refused delete --all --yes')).code).toBe(0);
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'No lead yet. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      senders: { form: 'unknown: 0 accepted, 1 refused: invalid-lead vorname' },
    },
  },
  {
    name: 'refused at the door, and repeated with success',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'boss', { scopes: ['leads:write'] });
      const leads = [{ firstName: 'Ada', branchId: 'new' }];
      expect((await world.post(leads, form)).status).toBe(422);
      await make.polls(2);
      const branches = [{ id: 'new', name: 'New', departments: [] }];
      const companies = [{ id: 'acme', name: 'Acme', branches, users: [] }];
      await world.service.store.applyOrganisation({ companies });
      expect((await world.post(leads, form)).status).toBe(201);
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'an automation was connected for leads that none could see, and gets them',
    async setUp(world) {
      await world.send(2);
      await world.service.service.alerts?.check();
      const make = await world.client('make');
      await make.poll('since=2026-03-01');
      await make.polls(7);
    },
    claims: {
      light: 'green',
      summary: 'All 2 leads since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'confirmed' },
      alerts: [
        'warning: 2 leads since Monday: no automation of Acme.',
        'ended after 12 min: Acme has no lead of the last 30 days any more that no automation may see.',
      ],
    },
  },
  {
    name: 'an automation was connected for leads that none could see, and begins after them',
    async setUp(world) {
      await world.send(2);
      await world.service.service.alerts?.check();
      world.clock.advance(MINUTE_MS);
      await world.established('make');
    },
    claims: {
      light: 'grey',
      summary:
        'No lead has come in since an automation was connected. 2 came in before an automation was connected. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      lead: { make: 'skipped' },
      alerts: [
        'warning: 2 leads since Monday: no automation of Acme.',
        'ended after 13 min: Acme has no lead of the last 30 days any more that no automation may see.',
      ],
    },
  },
];
