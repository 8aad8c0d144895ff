import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { startRedis } from '../../packages/testing/servers/redis.ts';
import { type Bench, type Dataset, isIncluded, type Options } from './bench.ts';
import {
  companyId,
  type Feed,
  pollRequest,
  readFeed,
  type Shape,
  sinceQuery,
  userId,
  WHOLE_COMPANY,
} from './data.ts';
import type { Recorded } from './servers/bare.ts';
import { startServer } from './servers/start.ts';
import { type Checkout, type Instance, serve } from './service.ts';
import { type Requests, type Target, writeRequests } from './wrk.ts';

export const KINDS = {
  empty: 'empty poll',
  page: '100 leads after since',
  cold: 'empty poll by 150,000 users in turn, more than the caches hold',
  old: '100 old leads, which are not in the cache',
} as const;
export type Kind = keyof typeof KINDS;

export const STORES = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'PostgreSQL and Redis' } as const;
export type StoreName = keyof typeof STORES;

/** All users see the whole company: these 100 feeds fit into the cache. */
export const pollShape = ({ quick }: Options): Shape => ({
  companies: COMPANIES,
  usersOf: () => (quick ? 150 : 1500),
  places: WHOLE_COMPANY,
  history: { leads: COMPANIES * 300, intervalMs: 6000, companyOf: (n) => n % COMPANIES },
});
export const COMPANIES = 100;
/** So many users of each company poll in the kinds other than `cold`: none of them reaches a rate limit. */
const ACTIVE_USERS = 100;

/** A server under measurement. */
export interface Contestant extends Target {
  readonly name: string;
  readonly store?: StoreName;
  readonly checkout?: Checkout;
  /** Undefined if the kind does not apply to it. */
  readonly requests: Partial<Record<Kind, Requests>>;
  /** Other than `port`, for servers that have one process per kind. */
  readonly targets?: Partial<Record<Kind, Target>>;
}

interface Poller {
  readonly token: string;
  readonly company: number;
  readonly feed: Feed;
}

export const BARE = 'bare node:http server';
export const HAND_WRITTEN = 'hand-written poll (node:http, pg)';

/** The users in turn: company by company, so that neighbours in a batch are of different companies. */
async function findPollers(instance: Instance, { tokens }: Dataset): Promise<Poller[]> {
  const token = (company: number, n: number) => tokens.get(userId(company, n)) ?? '';
  const feeds: Feed[] = [];
  while (feeds.length < COMPANIES) feeds.push(await readFeed(instance.port, token(feeds.length, 0)));
  return Array.from({ length: tokens.size / COMPANIES }, (_, n) =>
    feeds.map((feed, company) => ({ token: token(company, n), company, feed })),
  ).flat();
}

/** A since in the older half of the 50 hours of leads, a different one for each request. */
const oldSince = ({ feed }: Poller, n: number): string =>
  sinceQuery(Date.parse(new URLSearchParams(feed.empty).get('since') ?? '') - (30 + (n % 19)) * 3600_000 + n);

const QUERIES: Record<Kind, (poller: Poller, n: number) => string> = {
  empty: ({ feed }) => feed.empty,
  page: ({ feed }) => feed.since,
  cold: ({ feed }) => feed.empty,
  old: oldSince,
};

const activeOf = (pollers: readonly Poller[]): readonly Poller[] =>
  pollers.slice(0, ACTIVE_USERS * COMPANIES);

function writeKinds(
  bench: Bench,
  name: string,
  pollers: readonly Poller[],
  request: (poller: Poller, query: string) => string,
): Record<Kind, Requests> {
  const write = (kind: Kind): Requests => {
    const polling = kind === 'cold' ? pollers : activeOf(pollers);
    const texts = polling.map((poller, n) => request(poller, QUERIES[kind](poller, n)));
    return writeRequests(`${bench.folder}/requests-${name}-${kind}`, texts);
  };
  const kinds = Object.keys(KINDS) as Kind[];
  return Object.fromEntries(kinds.map((kind) => [kind, write(kind)])) as Record<Kind, Requests>;
}

/** Every contestant continues at its own position. */
const copyPositions = <T extends Partial<Record<Kind, Requests>>>(requests: T): T =>
  structuredClone(requests);

/** Status, headers and body as they arrive. */
const record = (port: number, token: string, query: string): Promise<Recorded> =>
  new Promise((resolve, reject) => {
    const headers = { host: 'leads.example.com', authorization: `Bearer ${token}` };
    get({ host: '127.0.0.1', port, path: `/automation/new-leads${query}`, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ headers: response.rawHeaders, body }));
    }).on('error', reject);
  });

const OF_NODE = ['connection', 'keep-alive'];
const namesOf = ({ headers }: Recorded): string => headers.filter((_, n) => n % 2 === 0).join();

/** A bare server: one process for each response, which is that of `instance`. */
async function startBare(
  bench: Bench,
  instance: Instance,
  poller: Poller,
  requests: Record<Kind, Requests>,
): Promise<Contestant> {
  const start = async (kind: Kind): Promise<Target> => {
    const recorded = await record(instance.port, poller.token, QUERIES[kind](poller, 0));
    const kept = recorded.headers.flatMap((name, n) =>
      n % 2 === 0 && !OF_NODE.includes(name.toLowerCase()) ? [name, recorded.headers[n + 1] ?? ''] : [],
    );
    const file = `${bench.folder}/recorded-${kind}.json`;
    writeFileSync(file, JSON.stringify({ ...recorded, headers: kept }));
    const target = await startServer(bench.cleanup, 'bare', file);
    const copy = await record(target.port, poller.token, QUERIES[kind](poller, 0));
    if (namesOf(copy) !== namesOf(recorded) || copy.body !== recorded.body)
      throw new Error(`the bare server sends ${namesOf(copy)}, the service ${namesOf(recorded)}`);
    return target;
  };
  const bare = { empty: await start('empty'), page: await start('page') };
  const { empty, page, cold } = requests;
  return {
    name: BARE,
    requests: copyPositions({ empty, page, cold }),
    targets: { ...bare, cold: bare.empty },
    ...bare.empty,
  };
}

async function startHandWritten(
  bench: Bench,
  dataset: Dataset,
  pollers: readonly Poller[],
): Promise<Contestant> {
  const request = ({ company }: Poller, query: string) =>
    pollRequest('none', `${query}&company=${companyId(company)}`);
  const { empty, page, old } = writeKinds(bench, 'hand-written', activeOf(pollers), request);
  const target = await startServer(bench.cleanup, 'hand-written', dataset.postgresUrl);
  return {
    name: HAND_WRITTEN,
    requests: { empty, page, old },
    ...target,
    serverPids: [dataset.postgresPid],
  };
}

export async function startContestants(bench: Bench): Promise<Contestant[]> {
  const isChosen = (store: StoreName) => isIncluded(store, bench.options.stores);
  const redis = isChosen('redis') ? bench.cleanup.own(await startRedis()) : undefined;
  const contestants: Contestant[] = [];
  for (const [n, checkout] of bench.checkouts.entries()) {
    const dataset = await bench.pollData(checkout);
    const limits = { LEADTAP_REDIS_URL: `${redis?.url}/${n}` };
    const deployments = {
      sqlite: { home: dataset.sqlite, serverPids: [] },
      postgres: { home: dataset.postgres, serverPids: [dataset.postgresPid] },
      redis: {
        home: { ...dataset.postgres, settings: { ...dataset.postgres.settings, ...limits } },
        serverPids: [dataset.postgresPid, redis?.pid ?? 0],
      },
    };
    let requests: Record<Kind, Requests> | undefined;
    for (const store of (['sqlite', 'postgres', 'redis'] as const).filter(isChosen)) {
      const { home, serverPids } = deployments[store];
      const instance = bench.cleanup.own(await serve(home));
      if (!requests) {
        const pollers = await findPollers(instance, dataset);
        requests = writeKinds(bench, checkout.name, pollers, ({ token }, query) => pollRequest(token, query));
        if (n === 0 && pollers[0]) {
          contestants.push(await startBare(bench, instance, pollers[0], requests));
          if (isChosen('postgres')) contestants.push(await startHandWritten(bench, dataset, pollers));
        }
      }
      const name = `Leadtap, ${STORES[store]}${n === 0 ? '' : `, ${checkout.name} checkout`}`;
      contestants.push({ name, store, checkout, requests: copyPositions(requests), ...instance, serverPids });
    }
  }
  return contestants;
}
