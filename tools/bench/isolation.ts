import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { issueToken, loadSigningKeys } from 'leadtap';
import pg from 'pg';
import { type Bench, type Dataset, makeDataset, measureStores, type Result, type Section } from './bench.ts';
import { STORES } from './contestants.ts';
import { companyId, leadOf, type Shape, userId, WHOLE_COMPANY } from './data.ts';
import { type Answer, Others, send, serveWithSlices } from './others.ts';
import { atMost, millis } from './report.ts';
import type { Instance } from './service.ts';
import { TARGETS } from './targets.ts';

/** Company 0 sends the loads. Users of the next two poll meanwhile, those of the last two send leads. */
const LOADED = 0;
const POLLING = [1, 2] as const;
const SENDING = [3, 4] as const;
const OTHER_USERS = 150;
const SHAPE: Shape = {
  companies: 5,
  usersOf: (company) => (company === LOADED ? 40 : OTHER_USERS),
  places: WHOLE_COMPANY,
  history: { leads: 20_000, intervalMs: 1000, companyOf: () => LOADED },
};
/** Each user asks for one list only: 60 requests are below its limit of 100 a minute. */
const LISTS = {
  consumers: '/automation/consumers',
  senders: '/automation/senders',
  'log of a consumer, 404': '/automation/consumers/none/log',
  'log of a sender, 404': '/automation/senders/none/log',
};
const REQUESTS_OF_LIST = 60;
/** They poll and send a lead with each token, so that the lists have rows. */
const USERS_WITH_ROWS = 10;
const TOKENS_OF_USER = 30;

const REFUSED_USERS = [10, 11, 12, 13];
/** In all, below 600 requests a minute. */
const REFUSED_OF_USER = 225;
const UPLOADERS = { 'one user': [14], '4 users': [15, 16, 17, 18] };
const UPLOADS_OF_USER = 8;
/** 600 bodies are below 30,000 leads a minute. */
const LEADS_OF_BODY = 45;

/** The users who ask for lists during a lock, from this number on. */
const LOCKED_USERS = 20;
const MAX_LOCKED_MS = 25_000;

/** Requests of a user of the loaded company. */
interface LoadClient {
  get(user: number, path: string): Promise<Answer>;
  post(user: number, body: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

/** Each client sends one request after the other, until there is no further one. Counts the answers by status. */
type CountAnswers = (clients: number, next: (client: number) => Promise<Answer> | undefined) => Promise<void>;
type Load = (client: LoadClient, count: CountAnswers) => Promise<void>;

/** Requests that are refused with 422, then corrected and sent again with the same key. */
const refuseThenAccept: Load = async ({ post }, count) => {
  // As large as a request that is compared with another one may be, with as many values as possible.
  const bodyOf = (n: number, wrong: object) =>
    JSON.stringify({
      ...{ ...wrong, firstName: `First${n}`, lastName: `Last${n}`, email: `person-${n}@mail.example` },
      images: Array.from({ length: 50 }, (_, image) => `https://images.example.com/${n}/${image}.jpg`),
      customFields: Object.fromEntries(
        Array.from({ length: 50 }, (_, field) => [`question${field}`, `word${n + field} `.repeat(9)]),
      ),
    });
  for (const wrong of [{ unknownField: 'text' }, {}]) {
    const sent = REFUSED_USERS.map(() => 0);
    await count(REFUSED_USERS.length, (client) => {
      const n = sent[client] ?? 0;
      sent[client] = n + 1;
      const user = REFUSED_USERS[client] ?? 0;
      if (n >= REFUSED_OF_USER) return undefined;
      return post(user, bodyOf(1000 * user + n, wrong), { 'idempotency-key': `enquiry-${n}` });
    });
  }
  // What was kept of them is removed within about a second.
  await pause(2500);
};

const listLoad =
  (user: number, path: string): Load =>
  ({ get }, count) => {
    let sent = 0;
    return count(REQUESTS_OF_LIST, () => (sent++ < REQUESTS_OF_LIST ? get(user, path) : undefined));
  };

/** Arrays of just under 64 KiB, which are kept, and under 1 MiB in turn. Each lead has two errors. */
function largeBodies(users: readonly number[], seconds: number): Load {
  const bodies = [64, 1024].map((kib) => {
    const lead = { unknownField: 'text', email: 'no address' };
    const length = Math.floor(((kib - 1) * 1024) / LEADS_OF_BODY / 30) - 3;
    const answers = Array.from({ length }, (_, n) => [`question-${1000 + n}`, `answer-${1000 + n}`]);
    return JSON.stringify(Array(LEADS_OF_BODY).fill({ ...lead, customFields: Object.fromEntries(answers) }));
  });
  return ({ post }, count) => {
    const endsAt = performance.now() + 1000 * seconds;
    let sent = 0;
    return count(UPLOADS_OF_USER * users.length, (client) => {
      sent += 1;
      // Spaces make the bodies differ.
      const body = `${' '.repeat(sent % 500)}${bodies[sent % bodies.length]}`;
      return performance.now() < endsAt ? post(users[client % users.length] ?? 0, body) : undefined;
    });
  };
}

async function makeRows(instance: Instance, folder: string): Promise<void> {
  const keys = await loadSigningKeys({ file: `${folder}/signing.key` });
  const issuedAt = Date.now();
  const times = { issuedAt, expiresAt: issuedAt + 86_400_000 };
  for (let n = 0; n < USERS_WITH_ROWS * TOKENS_OF_USER; n += 1) {
    const user = n % USERS_WITH_ROWS;
    const grant = { userId: userId(LOADED, user), tokenId: `automation-${n}`, ...times };
    const token = await issueToken(keys, { ...grant, scopes: ['leads:read', 'leads:write'] });
    const since = new Date(issuedAt - 3600_000 - n * 60_000).toISOString();
    await send(instance, token, '/leads', JSON.stringify(leadOf(n)));
    await send(instance, token, `/automation/new-leads?since=${since}&limit=10`);
  }
}

/** As another program does it. On PostgreSQL: of the company, and of the tables behind the lists. Returns how to end it. */
async function takeLock(dataset: Dataset, store: 'sqlite' | 'postgres'): Promise<() => Promise<void>> {
  if (store === 'sqlite') {
    const database = new DatabaseSync(`${dataset.sqlite.folder}/leadtap.db`);
    database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
    return async () => database.close();
  }
  const client = new pg.Client({ connectionString: dataset.postgresUrl });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE leadtap.consumers, leadtap.senders IN EXCLUSIVE MODE');
  await client.query('SELECT leadtap.lock_companies($1)', [[companyId(LOADED)]]);
  return () => client.end();
}

/** The longest poll, and the longest of the lists of several users, which begin at once. */
async function measureLocked({ get, post }: LoadClient, dataset: Dataset, store: 'sqlite' | 'postgres') {
  const poll = (user: number) => get(LOCKED_USERS + user, '/automation/new-leads?limit=1');
  const users = [0, 1, 2, 3, 4, 5, 6, 7];
  // Each list has something to write first.
  for (const user of users)
    await Promise.all([poll(user), post(LOCKED_USERS + user, JSON.stringify(leadOf(user)))]);
  const unlock = await takeLock(dataset, store);
  const polls = [await poll(8), await poll(9)];
  const paths = Object.values(LISTS);
  const lists = Promise.all(users.map((user) => get(LOCKED_USERS + user, paths[user % paths.length] ?? '')));
  await Promise.race([lists, pause(MAX_LOCKED_MS, undefined, { ref: false })]);
  await unlock();
  const longest = (answers: readonly Answer[]) => Math.max(...answers.map(({ ms }) => ms));
  return { pollMs: longest(polls), listMs: longest(await lists) };
}

async function measureStore(bench: Bench, dataset: Dataset, store: 'sqlite' | 'postgres') {
  const seconds = bench.options.quick ? 1 : 5;
  const measured = await serveWithSlices(bench, dataset[store], { LEADTAP_INTAKE: 'on' });
  const { instance } = measured;
  const tokenOf = (company: number, user: number) => dataset.tokens.get(userId(company, user)) ?? '';
  const client: LoadClient = {
    get: (user, path) => send(instance, tokenOf(LOADED, user), path),
    post: (user, body, headers) => send(instance, tokenOf(LOADED, user), '/leads', body, headers),
  };
  const users = Array.from({ length: OTHER_USERS }, (_, user) => user);
  const tokensOf = (companies: readonly number[]) =>
    users.flatMap((user) => companies.map((company) => tokenOf(company, user)));
  const others = new Others(measured, tokensOf(POLLING), tokensOf(SENDING));

  async function measureLoad(name: string, load: Load) {
    bench.progress(`isolation, ${store}: ${name}`);
    const before = await others.observe(pause(400 * seconds));
    const answers: Record<string, number> = {};
    const count: CountAnswers = async (clients, next) => {
      const run = async (_: undefined, index: number) => {
        for (let sent = next(index); sent; sent = next(index)) {
          const { status } = await sent;
          answers[status] = (answers[status] ?? 0) + 1;
        }
      };
      await Promise.all(Array(clients).fill(undefined).map(run));
    };
    return { name, before, during: await others.observe(load(client, count)), answers };
  }

  await makeRows(instance, dataset.sqlite.folder);
  // Fills the caches.
  await others.observe(pause(600 * seconds));
  const loads = [await measureLoad('refused, then accepted', refuseThenAccept)];
  for (const [user, [name, path]] of Object.entries(LISTS).entries())
    loads.push(await measureLoad(name, listLoad(user, path)));
  for (const [name, uploaders] of Object.entries(UPLOADERS))
    loads.push(await measureLoad(`large refused bodies of ${name}`, largeBodies(uploaders, seconds)));
  bench.progress(`isolation, ${store}: lists during a lock`);
  const locked = await measureLocked(client, dataset, store);
  await instance.stop();
  return { store, loads, locked };
}

async function measure(bench: Bench): Promise<Result> {
  const dataset = await makeDataset(bench, bench.checkout, 'isolation', SHAPE, 'leads:read leads:write');
  const figures = await measureStores(bench, (store) => measureStore(bench, dataset, store));
  const targets = TARGETS.isolation;
  const pair = (before: number, during: number) => `${millis(before)} → ${millis(during)}`;
  const columns = [
    '',
    'poll, p50',
    'p99',
    'POST, p50',
    'p99',
    'longest slice',
    'failed',
    'answers to the load',
  ];
  return {
    tables: [
      {
        title: 'What do others notice of a load of one company? Before → meanwhile',
        isDetail: true,
        columns,
        rows: figures.flatMap(({ store, loads }) =>
          loads.map(({ name, before, during, answers }) => [
            `${STORES[store]}: ${name}`,
            ...(['polls', 'posts'] as const).flatMap((kind) => [
              pair(before[kind].p50Ms, during[kind].p50Ms),
              pair(before[kind].p99Ms, during[kind].p99Ms),
            ]),
            pair(before.sliceMs, during.sliceMs),
            String(during.polls.failed + during.posts.failed),
            JSON.stringify(answers).replace(/[{}"]/g, ''),
          ]),
        ),
      },
    ],
    verdicts: figures.flatMap(({ store, loads, locked: { listMs, pollMs } }) => {
      const nameOf = (figure: string) => `isolation, ${store}, ${figure}`;
      return [
        ...loads.flatMap(({ name, before, during }) => [
          ...(['polls', 'posts'] as const).map((kind) => {
            const slower = during[kind].p50Ms / before[kind].p50Ms;
            return atMost(targets.others, slower, nameOf(`${name}: ${kind} of others`));
          }),
          atMost(0, during.polls.failed + during.posts.failed, nameOf(`${name}: failed requests of others`)),
          atMost(targets.sliceMs, during.sliceMs, nameOf(`${name}: longest slice, ms`)),
        ]),
        atMost(targets.others, listMs / pollMs, nameOf('during a lock: lists, compared with polls')),
      ];
    }),
    figures,
  };
}

export const isolation: Section = {
  name: 'isolation',
  about: 'what others notice of a load of one company',
  measure,
};
