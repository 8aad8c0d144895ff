import { setTimeout as pause } from 'node:timers/promises';
import {
  type Bench,
  type Dataset,
  makeDataset,
  measureStores,
  type Options,
  openStore,
  type Result,
  type Section,
} from './bench.ts';
import { type Client, openClients } from './client.ts';
import { STORES } from './contestants.ts';
import { companyId, pollRequest, type Shape, sinceQuery, userId, WHOLE_COMPANY } from './data.ts';
import { atLeast, atMost, median, millis, percent, percentile, ratios, whole } from './report.ts';
import { type Instance, memoryMb, processorTimes, serve, spentMs } from './service.ts';
import { TARGETS } from './targets.ts';
import { load, writeRequests } from './wrk.ts';

/** Half of the users hold polls, the other half polls as usual. */
const COMPANIES = 10;
const holdingUsers = ({ quick }: Options): number => (quick ? 100 : 1000);
const shapeOf = (options: Options): Shape => ({
  companies: COMPANIES,
  usersOf: () => 2 * holdingUsers(options),
  places: WHOLE_COMPANY,
});
const HELD_FOR_LATENCY = 1000;
const CLIENTS_OF_LEAD = HELD_FOR_LATENCY / COMPANIES;
const RETRY_MS = 1000;
const WARM_UP_SECONDS = 6;

/** Waits until the service holds so many polls. */
async function untilHeld({ metricsUrl }: Instance, count: number): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(metricsUrl)).text();
    const held = Number(/^leadtap_waiting_polls (\d+)/m.exec(metrics)?.[1]);
    // Some end after their 50 seconds, and are sent again.
    if (Math.abs(held - count) <= count / 100) return;
    await pause(200);
  }
}

/** Clients that hold a poll each, and follow the `Link` of every response. */
class HeldClients {
  /** When responses with leads arrived, in milliseconds of `performance.now()`. */
  arrivedAt: number[] = [];
  #clients: Client[] = [];

  async open(
    instance: Instance,
    { tokens }: Dataset,
    users: readonly string[],
    since: string,
  ): Promise<void> {
    const requestOf = new Map<Client, (query: string) => string>();
    const poll = (client: Client, query: string) => client.send(requestOf.get(client)?.(query) ?? '');
    this.#clients = await openClients(instance.port, users.length, (client, head) => {
      const next = /new-leads(\?[^>]*)/.exec(head)?.[1];
      // 503 on a machine that is too slow: a client polls again.
      if (next === undefined) return setTimeout(poll, RETRY_MS, client, since).unref();
      if (!/\r\ncontent-length: 2\r\n/i.test(head)) this.arrivedAt.push(performance.now());
      return poll(client, next);
    });
    for (const [n, client] of this.#clients.entries()) {
      // More at once than the service queues would get 503.
      if (n % 500 === 499) await pause(100);
      const token = tokens.get(users[n] ?? '') ?? '';
      requestOf.set(client, (query) => pollRequest(token, query, 'Prefer: wait=50'));
      poll(client, since);
    }
    await untilHeld(instance, users.length);
    this.arrivedAt = [];
  }

  async close(instance: Instance): Promise<void> {
    for (const client of this.#clients.splice(0)) client.close();
    await untilHeld(instance, 0);
  }
}

/** The users from this number on, of all companies in turn. */
const usersFrom = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => userId(n % COMPANIES, first + Math.floor(n / COMPANIES)));

/** This process commits leads one by one; each is for the clients of one company. */
async function measureLatency(
  bench: Bench,
  dataset: Dataset,
  name: 'sqlite' | 'postgres',
  instance: Instance,
) {
  const store = await openStore(dataset, name);
  const clients = new HeldClients();
  const latencies: number[] = [];
  try {
    await clients.open(instance, dataset, usersFrom(0, HELD_FOR_LATENCY), sinceQuery(Date.now()));
    const leads = bench.options.quick ? 10 : 60;
    for (let n = 0; n <= leads; n += 1) {
      clients.arrivedAt = [];
      await store.writeLeads([
        { companyId: companyId(n % COMPANIES), fields: { firstName: 'New', lastName: 'Lead' } },
      ]);
      const committedAt = performance.now();
      while (clients.arrivedAt.length < CLIENTS_OF_LEAD) await pause(5);
      // The first lead fills the caches.
      if (n > 0) latencies.push(...clients.arrivedAt.map((at) => at - committedAt));
      // At any moment between two reads of the change log.
      await pause(100 + Math.random() * 100);
    }
  } finally {
    await clients.close(instance);
    await store.close();
  }
  return { p50Ms: median(latencies), p99Ms: percentile(latencies, 0.99) };
}

/** Ordinary polls alone and beside 10,000 long polls, in alternate rounds. */
async function measureMany(bench: Bench, dataset: Dataset, instance: Instance) {
  const { rounds, seconds, quick } = bench.options;
  const held = COMPANIES * holdingUsers(bench.options);
  const future = sinceQuery(Date.now() + 24 * 3600 * 1000);
  const requests = writeRequests(
    `${bench.folder}/requests-beside`,
    usersFrom(holdingUsers(bench.options), held).map((id) =>
      pollRequest(dataset.tokens.get(id) ?? '', future),
    ),
  );
  const pollCost = async () => (await load(instance, requests, seconds)).micros;
  await load(instance, requests, quick ? 1 : WARM_UP_SECONDS);
  const costs = { alone: [] as number[], beside: [] as number[] };
  const grownMb: number[] = [];
  const idleShares: number[] = [];
  const clients = new HeldClients();
  try {
    for (let round = 0; round < rounds; round += 1) {
      costs.alone.push(await pollCost());
      const before = memoryMb(instance.pid, 'VmRSS');
      await clients.open(instance, dataset, usersFrom(0, held), future);
      grownMb.push(memoryMb(instance.pid, 'VmRSS') - before);
      const idleMs = quick ? 1000 : 2000;
      const spentBefore = processorTimes([instance.pid]);
      await pause(idleMs);
      idleShares.push(spentMs(spentBefore, processorTimes([instance.pid])) / idleMs);
      costs.beside.push(await pollCost());
      await clients.close(instance);
    }
  } finally {
    await clients.close(instance);
  }
  return {
    held,
    memoryMb: Math.max(...grownMb),
    idleShare: median(idleShares),
    pollsBeside: ratios(costs.alone, costs.beside),
  };
}

async function measureStore(bench: Bench, dataset: Dataset, store: 'sqlite' | 'postgres') {
  bench.progress(`waiting: ${store}`);
  const instance = bench.cleanup.own(await serve(dataset[store]));
  const latency = await measureLatency(bench, dataset, store, instance);
  const many = await measureMany(bench, dataset, instance);
  await instance.stop();
  return { store, ...latency, ...many };
}

async function measure(bench: Bench): Promise<Result> {
  const dataset = await makeDataset(bench, bench.checkout, 'waiting', shapeOf(bench.options));
  const figures = await measureStores(bench, (store) => measureStore(bench, dataset, store));
  const targets = TARGETS.waiting;
  return {
    tables: [
      {
        title: 'How fast does a new lead get to a long poll?',
        columns: ['', 'p50', 'p99', '10,000 long polls: memory', 'share of a core', 'other polls'],
        rows: figures.map(({ store, p50Ms, p99Ms, memoryMb: mb, idleShare, pollsBeside }) => [
          `Leadtap, ${STORES[store]}`,
          millis(p50Ms),
          millis(p99Ms),
          `${whole(mb)} MB`,
          percent(idleShare),
          pollsBeside.median.toFixed(2),
        ]),
      },
    ],
    verdicts: figures.flatMap(({ store, p50Ms, p99Ms, memoryMb: mb, idleShare, pollsBeside }) => [
      atMost(targets.p50Ms, p50Ms, `waiting, ${store}: a lead for 100 of 1,000 clients, p50 ms`),
      atMost(targets.p99Ms, p99Ms, `waiting, ${store}: the same, p99 ms`),
      atMost(targets.memoryMb, mb, `waiting, ${store}: MB for 10,000 long polls`),
      atMost(targets.idleShareOfCore, idleShare, `waiting, ${store}: share of a core with 10,000 long polls`),
      atLeast(
        targets.pollsBeside,
        pollsBeside.median,
        `waiting, ${store}: polls beside 10,000 held ones, by processor time`,
      ),
    ]),
    figures,
  };
}

export const waiting: Section = { name: 'waiting', about: 'polls that wait for a lead', measure };
