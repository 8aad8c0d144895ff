import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { HookEvent } from '@leadtap/contract';
import type { Store } from 'leadtap';
import {
  type Bench,
  type Dataset,
  makeDataset,
  measureInTurns,
  measureStores,
  openStore,
  type Result,
  type Section,
} from './bench.ts';
import type { Cleanup } from './cleanup.ts';
import { STORES } from './contestants.ts';
import { companyId, pollRequest, type Shape, sinceQuery, userId, WHOLE_COMPANY } from './data.ts';
import { atLeast, atMost, median, millis, percentile, ratios } from './report.ts';
import { type Instance, processorTimes, serve, spentMs } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, writeRequests } from './wrk.ts';

/** 100 users have 10 subscriptions each; the others poll. A lead is announced to the 100 subscriptions of its company. */
const COMPANIES = 10;
const SHAPE: Shape = { companies: COMPANIES, usersOf: () => 1000, places: WHOLE_COMPANY };
const HOOK_USERS = 10;
const RECEIVERS = 10;
const HOOKS_OF_COMPANY = HOOK_USERS * RECEIVERS;
/** The last two receivers hang and fail, while receivers are faulty. */
const HEALTHY = RECEIVERS - 2;
/** Longer than the pause of a second between two events of a subscription. */
const LEAD_INTERVAL_MS = 1500 / COMPANIES;
const IDLE_MS = 5000;
/** After the last lead of a measurement. */
const MAX_LATENCY_MS = 5000;

/** Ten origins in this process. Each subscription has a URL of its own. */
class Receivers {
  areFaulty = false;
  /** By URL: the `through` of events, and when they arrived, in milliseconds of `performance.now()`. */
  readonly arrived = new Map<string, { readonly through: number; readonly at: number }[]>();
  readonly #servers: Server[];

  private constructor() {
    this.#servers = Array.from({ length: RECEIVERS }, (_, receiver) =>
      createServer(async (request, response) => {
        const at = performance.now();
        let text = '';
        for await (const chunk of request) text += chunk;
        const { data }: HookEvent = JSON.parse(text);
        const url = `${this.origins[receiver]}${request.url}`;
        this.arrived.set(url, [...(this.arrived.get(url) ?? []), { through: Date.parse(data.through), at }]);
        if (!this.areFaulty || receiver < HEALTHY) response.writeHead(204).end();
        else if (receiver === HEALTHY) response.writeHead(500).end();
      }),
    );
  }

  static async start(cleanup: Cleanup): Promise<Receivers> {
    const receivers = new Receivers();
    for (const server of receivers.#servers) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      cleanup.add(() => {
        server.closeAllConnections();
        server.close();
      });
    }
    return receivers;
  }

  get origins(): string[] {
    return this.#servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
}

/** Of the subscriptions of one company. */
const urlsOf = (company: number, origins: readonly string[]): string[] =>
  Array.from({ length: HOOK_USERS }, (_, user) =>
    origins.map((origin) => `${origin}/${company}/${user}`),
  ).flat();

async function subscribeAll({ port }: Instance, { tokens }: Dataset, origins: string[]): Promise<void> {
  for (let company = 0; company < COMPANIES; company += 1)
    for (const [n, url] of urlsOf(company, origins).entries()) {
      const token = tokens.get(userId(company, Math.floor(n / RECEIVERS)));
      const response = await fetch(`http://127.0.0.1:${port}/automation/hooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url }),
      });
      if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
    }
}

/** From the commits of leads to their events at the healthy receivers. Each step commits a lead of each of these companies. */
async function measureLatency(
  { arrived, origins }: Receivers,
  store: Store,
  steps: number,
  companiesOf: (step: number) => readonly number[],
  intervalMs: number,
): Promise<number[]> {
  arrived.clear();
  const leads: { readonly company: number; readonly createdAt: number; readonly committedAt: number }[] = [];
  for (let step = 0; step < steps; step += 1) {
    const companies = companiesOf(step);
    const inputs = companies.map((n) => ({ companyId: companyId(n), fields: { firstName: 'New' } }));
    const { results } = await store.writeLeads(inputs);
    const committedAt = performance.now();
    for (const [n, result] of results.entries())
      if (result.kind !== 'rejected')
        leads.push({ company: companies[n] ?? 0, createdAt: result.createdAt, committedAt });
    await pause(intervalMs * (0.9 + 0.2 * Math.random()));
  }
  await pause(MAX_LATENCY_MS);
  return leads.flatMap(({ company, createdAt, committedAt }) =>
    urlsOf(company, origins.slice(0, HEALTHY)).map((url) => {
      const event = arrived.get(url)?.find(({ through }) => through >= createdAt);
      if (!event) throw new Error(`hooks: a lead was not announced within ${MAX_LATENCY_MS} ms`);
      return event.at - committedAt;
    }),
  );
}

const summary = (latencies: readonly number[]) => ({
  p50Ms: median(latencies),
  p99Ms: percentile(latencies, 0.99),
});

async function measureIdle(pids: readonly number[], ms: number): Promise<number> {
  const before = processorTimes(pids);
  await pause(ms);
  return spentMs(before, processorTimes(pids)) / ms;
}

/** The same polls at an instance without and one with subscriptions, in alternate rounds. */
async function measurePolls(
  bench: Bench,
  dataset: Dataset,
  instances: { readonly without: Instance; readonly beside: Instance },
) {
  const { rounds, seconds } = bench.options;
  const future = sinceQuery(Date.now() + 24 * 3600 * 1000);
  const users = Array.from({ length: COMPANIES * (1000 - HOOK_USERS) }, (_, n) =>
    userId(n % COMPANIES, HOOK_USERS + Math.floor(n / COMPANIES)),
  );
  const requests = writeRequests(
    `${bench.folder}/requests-hooks`,
    users.map((id) => pollRequest(dataset.tokens.get(id) ?? '', future)),
  );
  const { without, beside } = instances;
  const costs = await measureInTurns(
    rounds,
    [without, beside],
    async (instance) => (await load(instance, requests, seconds)).micros,
  );
  return ratios(costs.get(without) ?? [], costs.get(beside) ?? []);
}

async function measureStore(bench: Bench, dataset: Dataset, name: 'sqlite' | 'postgres') {
  bench.progress(`hooks: ${name}`);
  const { quick } = bench.options;
  const receivers = await Receivers.start(bench.cleanup);
  const start = async (settings: Record<string, string>) =>
    bench.cleanup.own(
      await serve({ ...dataset[name], settings: { ...dataset[name].settings, ...settings } }),
    );
  const instance = await start({ LEADTAP_HOOK_HOSTS: receivers.origins.join(',') });
  const store = await openStore(dataset, name);
  const inTurn = (step: number) => [step % COMPANIES];
  const all = () => Array.from({ length: COMPANIES }, (_, n) => n);
  const leads = quick ? 10 : 60;
  try {
    await subscribeAll(instance, dataset, receivers.origins);
    await pause(3000);
    const idleMs = quick ? 1000 : IDLE_MS;
    const idleShare = await measureIdle([instance.pid], idleMs);
    const without = await start({ LEADTAP_HOOKS: 'off' });
    const pollsBeside = await measurePolls(bench, dataset, { without, beside: instance });
    await without.stop();
    // These fill the caches.
    await measureLatency(receivers, store, COMPANIES, inTurn, LEAD_INTERVAL_MS);
    const healthy = summary(await measureLatency(receivers, store, leads, inTurn, LEAD_INTERVAL_MS));
    const burst = summary(await measureLatency(receivers, store, quick ? 1 : 5, all, 3000));
    receivers.areFaulty = true;
    const besideFaulty = summary(await measureLatency(receivers, store, leads, inTurn, LEAD_INTERVAL_MS));
    return { store: name, idleShare, healthy, burst, besideFaulty, pollsBeside };
  } finally {
    await store.close();
    await instance.stop();
  }
}

async function measure(bench: Bench): Promise<Result> {
  const dataset = await makeDataset(bench, bench.checkout, 'hooks', SHAPE);
  const figures = await measureStores(bench, (store) => measureStore(bench, dataset, store));
  const targets = TARGETS.hooks;
  const times = ({ p50Ms, p99Ms }: { p50Ms: number; p99Ms: number }) => `${millis(p50Ms)} / ${millis(p99Ms)}`;
  return {
    tables: [
      {
        title: 'How fast does a webhook event arrive? p50 / p99',
        isDetail: true,
        columns: [
          '',
          `for ${HOOKS_OF_COMPANY} of 1,000 subscriptions`,
          'while 2 of 10 receivers are faulty',
          'for all 1,000 at once',
        ],
        rows: figures.map((figure) => [
          `Leadtap, ${STORES[figure.store]}`,
          times(figure.healthy),
          times(figure.besideFaulty),
          times(figure.burst),
        ]),
      },
    ],
    verdicts: figures.flatMap(({ store, healthy, besideFaulty, idleShare, pollsBeside }) => [
      atMost(targets.p50Ms, healthy.p50Ms, `hooks, ${store}: a lead for 100 of 1,000 subscriptions, p50 ms`),
      atMost(targets.p99Ms, healthy.p99Ms, `hooks, ${store}: the same, p99 ms`),
      atMost(
        targets.p99BesideFaulty,
        besideFaulty.p99Ms / healthy.p99Ms,
        `hooks, ${store}: p99 beside faulty receivers, compared with none`,
      ),
      atMost(targets.idleShareOfCore, idleShare, `hooks, ${store}: share of a core without new leads`),
      atLeast(targets.pollsBeside, pollsBeside.median, `hooks, ${store}: polls beside 1,000 subscriptions`),
    ]),
    figures,
  };
}

export const hooks: Section = { name: 'hooks', about: 'webhook subscriptions', measure };
