import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { SubscribedHook } from '@leadtap/contract';
import { type Bench, makeDataset, measureStores, openStore, type Result, type Section } from './bench.ts';
import { STORES } from './contestants.ts';
import { companyId, leadOf, type Shape, userId, WHOLE_COMPANY } from './data.ts';
import { Polls, serveWithSlices } from './others.ts';
import { atLeast, atMost, median, millis, percentile, whole } from './report.ts';
import type { Checkout, Instance } from './service.ts';
import { TARGETS } from './targets.ts';

/** Companies: two whose users have webhooks, with small and with large leads, and one that must not notice. */
const [SMALL, LARGE, OTHER] = [0, 1, 2] as const;
const HOOKS_OF_USER = 20;
const USERS_WITH_HOOKS = 50;
/** So that none of those who poll reaches a rate limit. */
const POLLING_USERS = 200;
const SHAPE: Shape = {
  companies: 3,
  usersOf: (company) => (company === OTHER ? POLLING_USERS : USERS_WITH_HOOKS),
  places: WHOLE_COMPANY,
};
const POLL_INTERVAL_MS = 20;
const OTHER_LEAD_INTERVAL_MS = 1500;
const CHUNK = 100;
const BEGINNING = '1970-01-01';

/** A lead of about 70 kB. */
const largeLeadOf = (n: number) => {
  const text = `${n} `.repeat(10_000).slice(0, 10_000);
  return {
    ...leadOf(n),
    ...{ address: text, addressNotes: text, firstName: text, lastName: text },
    customFields: { source: text, a: text, b: text },
  };
};

/** Answers after this time, and counts the requests of each path. */
class LeadReceiver {
  answerAfterMs = 0;
  readonly requests = new Map<string, number>();
  readonly server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    request.resume().on('end', () => {
      this.requests.set(path, (this.requests.get(path) ?? 0) + 1);
      const answer = () => response.writeHead(204).end();
      if (this.answerAfterMs > 0) setTimeout(answer, this.answerAfterMs);
      else answer();
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get total(): number {
    return [...this.requests.values()].reduce((sum, count) => sum + count, 0);
  }
}

interface Disturbance {
  readonly sliceMs: number;
  readonly pollMs: number;
  readonly webhookMs: number;
}

interface MeasurementParts {
  readonly instance: Instance;
  readonly token: (company: number, n: number) => string;
  readonly readSliceMs: () => Promise<number>;
  /** Of the webhooks that are measured, and of the one of the other company. */
  readonly receiver: LeadReceiver;
  readonly other: LeadReceiver;
  readonly addOtherLead: () => Promise<void>;
}

class Measurement {
  readonly #parts: MeasurementParts;
  readonly #polls: Polls;

  constructor(parts: MeasurementParts) {
    this.#parts = parts;
    const tokens = Array.from({ length: POLLING_USERS }, (_, user) => parts.token(OTHER, user));
    this.#polls = new Polls(parts.instance, tokens);
  }

  /** Returns the id. */
  async subscribe(company: number, user: number, url: string, since?: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.#parts.instance.port}/automation/hooks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#parts.token(company, user)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ url, send: 'lead', since }),
    });
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
    return ((await response.json()) as SubscribedHook).id;
  }

  async unsubscribe(ids: readonly string[]): Promise<void> {
    for (const id of ids)
      await fetch(`http://127.0.0.1:${this.#parts.instance.port}/automation/hooks/${id}`, {
        method: 'DELETE',
      });
    // What is in flight ends.
    await pause(1500);
  }

  async #poll(): Promise<number> {
    const { status, ms } = await this.#polls.next();
    if (status !== 200) throw new Error(`a poll was answered with ${status}`);
    return ms;
  }

  /** What others notice for this time: they poll, and have a webhook that gets a lead from time to time. */
  async observe(seconds: number): Promise<Disturbance> {
    await this.#parts.readSliceMs();
    const polls: Promise<number>[] = [];
    const webhooks: number[] = [];
    const endsAt = performance.now() + 1000 * seconds;
    const addLeads = async () => {
      while (performance.now() < endsAt) {
        const { other } = this.#parts;
        const before = other.total;
        await this.#parts.addOtherLead();
        const committedAt = performance.now();
        while (other.total === before) await pause(2);
        webhooks.push(performance.now() - committedAt);
        await pause(OTHER_LEAD_INTERVAL_MS);
      }
    };
    const adding = addLeads();
    while (performance.now() < endsAt) {
      polls.push(this.#poll());
      await pause(POLL_INTERVAL_MS);
    }
    await adding;
    const pollMs = median(await Promise.all(polls));
    return { sliceMs: await this.#parts.readSliceMs(), pollMs, webhookMs: Math.max(...webhooks) };
  }

  /** Leads a second that these hooks get, from the first on. */
  async rate(seconds: number): Promise<number> {
    const { receiver } = this.#parts;
    while (receiver.total === 0) await pause(5);
    const [before, begunAt] = [receiver.total, performance.now()];
    await pause(1000 * seconds);
    return (receiver.total - before) / ((performance.now() - begunAt) / 1000);
  }
}

async function measureStore(bench: Bench, checkout: Checkout, store: 'sqlite' | 'postgres') {
  bench.progress(`lead-hooks, ${checkout.name}: ${store}`);
  const { quick } = bench.options;
  const seconds = quick ? 3 : 10;
  const backlog = quick ? 500 : 5000;
  const dataset = await makeDataset(bench, checkout, `lead_hooks_${store}`, SHAPE);
  const token = (company: number, n: number) => dataset.tokens.get(userId(company, n)) ?? '';
  const database = await openStore(dataset, store);
  const write = async (company: number, from: number, count: number, fieldsOf: typeof leadOf) => {
    const leads = Array.from({ length: count }, (_, index) => {
      const { branchId, departmentId, appointmentDateTime: _time, ...fields } = fieldsOf(from + index);
      return { companyId: companyId(company), branchId, departmentId, fields };
    });
    const { results } = await database.writeLeads(leads);
    if (results.some(({ kind }) => kind === 'rejected')) throw new Error(JSON.stringify(results[0]));
  };
  for (let from = 0; from < backlog; from += CHUNK) {
    await write(SMALL, from, CHUNK, leadOf);
    await write(LARGE, from, CHUNK, largeLeadOf);
  }

  let others = 0;
  const addOtherLead = () => {
    others += 1;
    return write(OTHER, others, 1, leadOf);
  };
  const receivers = [new LeadReceiver(), new LeadReceiver()] as const;
  const origins = await Promise.all(receivers.map((receiver) => receiver.listen()));
  for (const { server } of receivers)
    bench.cleanup.add(() => {
      server.closeAllConnections();
      server.close();
    });
  const settings = { LEADTAP_HOOK_HOSTS: origins.join(',') };
  const { instance, readSliceMs } = await serveWithSlices(bench, dataset[store], settings);
  const [receiver, other] = receivers;
  const measurement = new Measurement({ instance, token, readSliceMs, receiver, other, addOtherLead });
  const [origin, otherOrigin] = origins;
  await measurement.subscribe(OTHER, 0, `${otherOrigin}/other`);
  const subscribeAll = async (company: number, users: number, hooks: number) => {
    receiver.requests.clear();
    const ids: string[] = [];
    for (let n = 0; n < users * hooks; n += 1) {
      const user = Math.floor(n / hooks);
      ids.push(await measurement.subscribe(company, user, `${origin}/${company}/${n}`, BEGINNING));
    }
    return ids;
  };
  // Fills the caches.
  await measurement.observe(3);
  const disturb = async (company: number) => {
    const before = await measurement.observe(seconds);
    const ids = await subscribeAll(company, 1, HOOKS_OF_USER);
    await pause(500);
    const counted = receiver.total;
    const begunAt = performance.now();
    const during = await measurement.observe(seconds);
    const perSecond = (receiver.total - counted) / ((performance.now() - begunAt) / 1000);
    await measurement.unsubscribe(ids);
    return { before, during, perSecond };
  };
  const rateOf = async (ms: number) => {
    receiver.answerAfterMs = ms;
    const ids = await subscribeAll(SMALL, 1, 1);
    const perSecond = await measurement.rate(seconds);
    await measurement.unsubscribe(ids);
    receiver.answerAfterMs = 0;
    return perSecond;
  };
  const share = async () => {
    const ids = await subscribeAll(SMALL, quick ? 5 : USERS_WITH_HOOKS, HOOKS_OF_USER);
    receiver.requests.clear();
    const during = await measurement.observe(quick ? 5 : 60);
    const counts = ids.map((_, n) => receiver.requests.get(`/${SMALL}/${n}`) ?? 0);
    await measurement.unsubscribe(ids);
    return { during, hooks: ids.length, least: percentile(counts, 0.05), most: percentile(counts, 0.95) };
  };
  try {
    const figures = {
      ...{ checkout: checkout.name, store },
      small: await disturb(SMALL),
      large: await disturb(LARGE),
      fastPerSecond: await rateOf(5),
      slowPerSecond: await rateOf(100),
      shares: await share(),
    };
    return figures;
  } finally {
    await database.close();
    await instance.stop();
  }
}

async function measure(bench: Bench): Promise<Result> {
  const measured = [];
  for (const checkout of bench.checkouts)
    measured.push(...(await measureStores(bench, (store) => measureStore(bench, checkout, store))));
  const nameOf = ({ checkout, store }: { checkout: string; store: 'sqlite' | 'postgres' }) =>
    `${checkout === 'other' ? 'other checkout' : 'Leadtap'}, ${STORES[store]}`;
  const pair = (before: number, during: number) => `${millis(before)} → ${millis(during)}`;
  const targets = TARGETS.leadHooks;
  return {
    tables: [
      {
        title: `What do others notice while ${HOOKS_OF_USER} webhooks of a user send leads? Before → meanwhile`,
        columns: ['', 'leads', 'longest slice', 'poll, p50', 'webhook, longest', 'leads/s'],
        rows: measured.flatMap((figures) =>
          (['small', 'large'] as const).map((size) => {
            const { before, during, perSecond } = figures[size];
            return [
              nameOf(figures),
              size === 'small' ? '1 kB' : '70 kB',
              pair(before.sliceMs, during.sliceMs),
              pair(before.pollMs, during.pollMs),
              pair(before.webhookMs, during.webhookMs),
              whole(perSecond),
            ];
          }),
        ),
      },
      {
        title: 'How many leads a second does a webhook send?',
        columns: [
          '',
          'receiver needs 5 ms',
          '100 ms',
          'leads of 1,000 webhooks at once, p5 to p95',
          'slice then',
        ],
        rows: measured.map((figures) => [
          nameOf(figures),
          whole(figures.fastPerSecond),
          figures.slowPerSecond.toFixed(1),
          `${figures.shares.least} to ${figures.shares.most}`,
          millis(figures.shares.during.sliceMs),
        ]),
      },
    ],
    verdicts: measured
      .filter(({ checkout }) => checkout !== 'other')
      .flatMap(({ store, small, large, fastPerSecond, slowPerSecond, shares }) => [
        ...Object.entries({ '1 kB': small, '70 kB': large }).flatMap(([size, { before, during }]) => [
          atMost(targets.sliceMs, during.sliceMs, `lead-hooks, ${store}, ${size}: longest slice, ms`),
          atMost(
            targets.polls,
            during.pollMs / before.pollMs,
            `lead-hooks, ${store}, ${size}: polls of others`,
          ),
          atMost(
            targets.webhookMs,
            during.webhookMs,
            `lead-hooks, ${store}, ${size}: webhook of another, ms`,
          ),
        ]),
        atLeast(targets.fastPerSecond, fastPerSecond, `lead-hooks, ${store}: leads/s, receiver needs 5 ms`),
        atLeast(targets.slowPerSecond, slowPerSecond, `lead-hooks, ${store}: leads/s, receiver needs 100 ms`),
        atLeast(
          1,
          shares.least,
          `lead-hooks, ${store}: leads of the 5 % of ${shares.hooks} that get the fewest`,
        ),
      ]),
    figures: measured,
  };
}

export const leadHooks: Section = {
  name: 'lead-hooks',
  about: 'webhooks that send leads, and what others notice of them',
  isComparison: true,
  measure,
};
