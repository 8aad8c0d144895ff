import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from '../../../../packages/testing/servers/postgres.ts';
import { atLeast, atMost, BARS, type Verdict } from '../../bars.ts';
import { ChildProgram } from '../../child-program.ts';
import { pollRequest } from '../../load/requests.ts';
import { companyId, organisation, userId, WHOLE_COMPANY } from '../../made-up/organisation.ts';
import { millis, ratio, share, whole } from '../../report/figures.ts';
import { median, percentile } from '../../report/statistics.ts';
import type { Bench, Section, SectionResult } from '../../section.ts';
import { databaseFile, type Home, leadtap, sqliteIn } from '../../service/leadtap.ts';
import { memoryOf } from '../../service/memory.ts';
import { POSTGRES_SETTINGS } from '../../service/postgres-settings.ts';
import { processorTimes, spentMs } from '../../service/processor-time.ts';
import { type RunningService, serve } from '../../service/serve.ts';
import type { WriteCommand, Written } from './lead-writer.ts';
import type { ClientsCommand, ClientsReply } from './waiting-clients.ts';

type StoreName = 'sqlite' | 'postgres';

interface Deployment {
  readonly store: StoreName;
  readonly service: RunningService;
  readonly database: WriteCommand['database'];
  readonly tokens: ReadonlyMap<string, string>;
}

interface LatencyFigures {
  /** The waiting clients that one lead is for. */
  readonly clientsOfLead: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface WaitingFigures {
  readonly store: StoreName;
  readonly latencies: readonly LatencyFigures[];
  readonly waiting: number;
  readonly memoryMb: number;
  readonly idleShare: number;
  readonly pollsAlone: number;
  readonly pollsBeside: number;
}

const COMPANIES = 10;
/** Of each company, half of them for the waiting clients and half for the ordinary polls. */
const USERS = 2000;
const WAITING_FOR_LATENCY = 1000;
/** Earlier than every lead of the run. The length is that of the times in `Link`. */
const SINCE = '?since=2020-01-01T00:00:00.000Z&limit=100';
/** The service has read the last request long before. */
const SETTLE_MS = 1500;

class WaitingClients {
  readonly #program = new ChildProgram<ClientsCommand, ClientsReply>('./sections/waiting/waiting-clients.js');

  /** Resolves when all of them wait. */
  async wait({ service, tokens }: Deployment, userIds: readonly string[]): Promise<void> {
    const requests = userIds.map((id) => pollRequest(tokens.get(id) ?? '', SINCE, 'Prefer: wait=50'));
    await this.#ask({ kind: 'wait', port: service.port, requests });
    await pause(SETTLE_MS);
    // Those that had leads are now behind them.
    await this.arrivals(0);
  }

  arrivals(count: number): Promise<readonly number[]> {
    return this.#ask({ kind: 'arrivals', count });
  }

  async disconnect(): Promise<void> {
    await this.#ask({ kind: 'disconnect' });
    await pause(SETTLE_MS);
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  async #ask(command: ClientsCommand): Promise<readonly number[]> {
    const { arrivedAt, failure } = await this.#program.ask(command);
    if (failure !== undefined) throw new Error(`a waiting client: ${failure}`);
    return arrivedAt;
  }
}

async function deploy(bench: Bench, store: StoreName): Promise<Deployment> {
  const folder = join(bench.folder, store);
  await mkdir(folder, { recursive: true });
  const server =
    store === 'postgres'
      ? bench.cleanup.own(await startPostgres({ settings: POSTGRES_SETTINGS }))
      : undefined;
  const home: Home = server ? { folder, settings: { LEADTAP_DATABASE_URL: server.url } } : sqliteIn(folder);
  const size = { companies: COMPANIES, usersPerCompany: USERS, places: WHOLE_COMPANY };
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(size))]);
  const issued: { userId: string; token: string }[] = JSON.parse(
    await leadtap(home, ['token', 'issue', '--all-users', '--json']),
  );
  return {
    store,
    service: bench.cleanup.own(await serve(home)),
    database: server ? { url: server.url } : { file: databaseFile(folder) },
    tokens: new Map(issued.map(({ userId: id, token }) => [id, token])),
  };
}

/** Leads are committed one after the other; each is for the clients of one company. */
async function measureLatency(
  bench: Bench,
  deployment: Deployment,
  companies: number,
): Promise<LatencyFigures> {
  const clients = bench.cleanup.own(new WaitingClients());
  const writer = bench.cleanup.own(
    new ChildProgram<WriteCommand, Written>('./sections/waiting/lead-writer.js'),
  );
  const clientsOfLead = WAITING_FOR_LATENCY / companies;
  const users = Array.from({ length: WAITING_FOR_LATENCY }, (_, n) =>
    userId(n % companies, Math.floor(n / companies) % (USERS / 2)),
  );
  await clients.wait(deployment, users);
  const latencies: number[] = [];
  const rounds = (bench.options.quick ? 10 : 40) * Math.min(companies, 5);
  for (let round = 0; round < rounds; round += 1) {
    const { committedAt } = await writer.ask({
      database: deployment.database,
      companyId: companyId(round % companies),
    });
    const arrived = await clients.arrivals(clientsOfLead);
    // The first one opens the database and fills the caches.
    if (round > 0) latencies.push(...arrived.map((at) => at - committedAt));
    // At any point between two reads of the change log.
    await pause(150 + Math.random() * 100);
  }
  await clients.stop();
  await writer.stop();
  return {
    clientsOfLead,
    p50Ms: median(latencies),
    p99Ms: percentile(latencies, 0.99),
    maxMs: Math.max(...latencies),
  };
}

async function measureMany(bench: Bench, deployment: Deployment) {
  const { service, tokens } = deployment;
  const waiting = COMPANIES * (USERS / 2);
  const ids = (from: number) =>
    Array.from({ length: waiting }, (_, n) => userId(n % COMPANIES, from + Math.floor(n / COMPANIES)));
  const requests = ids(USERS / 2).map((id) => pollRequest(tokens.get(id) ?? '', '?since=2030-01-01'));
  await bench.generator.learn({ name: 'beside', requests });
  const load = { requests: 'beside', ports: [service.port], connections: 64, processes: {} };
  const pollRate = async () => {
    const { answers, seconds } = await bench.generator.closedLoop(load, {
      seconds: bench.options.quick ? 3 : 8,
    });
    return answers / seconds;
  };
  // Until the code is compiled and the memory of the load has settled.
  for (let n = 0; n < 3; n += 1) await pollRate();
  const clients = bench.cleanup.own(new WaitingClients());
  const rates = { alone: [] as number[], beside: [] as number[] };
  const grownMb: number[] = [];
  const idleShares: number[] = [];
  for (let round = 0; round < bench.options.rounds; round += 1) {
    rates.alone.push(await pollRate());
    const { rssMb } = memoryOf(service.pid);
    await clients.wait(deployment, ids(0));
    grownMb.push(memoryOf(service.pid).rssMb - rssMb);
    idleShares.push(await idleShare(service.pid, bench.options.quick ? 5 : 15));
    rates.beside.push(await pollRate());
    await clients.disconnect();
    service.emptyLog();
  }
  await clients.stop();
  return {
    waiting,
    memoryMb: Math.max(...grownMb),
    idleShare: median(idleShares),
    pollsAlone: median(rates.alone),
    pollsBeside: median(rates.beside),
  };
}

/** The share of a core that the process uses while nothing is asked of it. */
async function idleShare(pid: number, seconds: number): Promise<number> {
  const before = processorTimes([pid]);
  const startedAt = performance.now();
  await pause(seconds * 1000);
  return spentMs(before, processorTimes([pid])) / (performance.now() - startedAt);
}

async function measureStore(bench: Bench, store: StoreName): Promise<WaitingFigures> {
  bench.progress(`${store}: 1,000 waiting clients`);
  const deployment = await deploy(bench, store);
  const latencies = [
    await measureLatency(bench, deployment, COMPANIES),
    await measureLatency(bench, deployment, 1),
  ];
  bench.progress(`${store}: 10,000 waiting clients`);
  return { store, latencies, ...(await measureMany(bench, deployment)) };
}

const verdictsOf = (figures: WaitingFigures): Verdict[] => {
  const { store, latencies, memoryMb, idleShare: idle, pollsAlone, pollsBeside } = figures;
  const bars = BARS.waiting;
  return [
    // A lead for all of them at once is shown without a bar: it measures how fast 1,000 responses are sent.
    ...latencies.slice(0, 1).flatMap(({ clientsOfLead, p50Ms, p99Ms }) => {
      const figure = `waiting, ${store}: a lead to ${whole(clientsOfLead)} of 1,000 clients`;
      return [atMost(bars.p50Ms, p50Ms, `${figure}, p50 ms`), atMost(bars.p99Ms, p99Ms, `${figure}, p99 ms`)];
    }),
    atMost(bars.memoryMb, memoryMb, `waiting, ${store}: MB for 10,000 clients`),
    atMost(bars.idleShareOfCore, idle, `waiting, ${store}: share of a core, idle with 10,000 clients`),
    atLeast(
      bars.pollsBeside,
      pollsBeside / pollsAlone,
      `waiting, ${store}: empty polls beside 10,000 clients`,
    ),
  ];
};

async function measure(bench: Bench): Promise<SectionResult> {
  const figures = [await measureStore(bench, 'sqlite'), await measureStore(bench, 'postgres')];
  return {
    tables: [
      {
        title:
          'From the commit of a lead in another process to the last byte at a waiting client; 1,000 clients wait',
        columns: ['', 'p50', 'p99', 'max'],
        rows: figures.flatMap(({ store, latencies }) =>
          latencies.map(({ clientsOfLead, p50Ms, p99Ms, maxMs }) => [
            `${store}, the lead is for ${whole(clientsOfLead)} of them`,
            ...[p50Ms, p99Ms, maxMs].map(millis),
          ]),
        ),
      },
      {
        title: '10,000 waiting clients',
        columns: ['', 'RSS grows by', 'idle', 'empty polls a second', 'without them', 'ratio'],
        rows: figures.map(({ store, memoryMb, idleShare: idle, pollsAlone, pollsBeside }) => [
          store,
          `${whole(memoryMb)} MB`,
          share(idle),
          whole(pollsBeside),
          whole(pollsAlone),
          ratio(pollsBeside / pollsAlone),
        ]),
        note: 'Idle: the share of a core that the service uses while the clients wait and nothing else is asked of it.',
      },
    ],
    verdicts: figures.flatMap(verdictsOf),
    figures: { stores: figures },
  };
}

export const waiting: Section = {
  name: 'waiting',
  about: 'how soon a lead reaches clients that wait for it, and what ten thousand of them cost',
  measure,
};
