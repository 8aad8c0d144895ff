import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { issueToken, loadSigningKeys } from 'leadtap';
import pg from 'pg';
import { type Bench, type Dataset, makeDataset, measureStores, type Result, type Section } from './bench.ts';
import { STORES } from './contestants.ts';
import { companyId, leadOf, type Shape, userId, WHOLE_COMPANY } from './data.ts';
import { type Answer, type MeasuredInstance, Others, send, serveWithSlices } from './others.ts';
import { atMost, millis } from './report.ts';
import { type Home, type Instance, leadtap } from './service.ts';
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
const LISTS = [
  { name: 'connections', path: '/automation/connections', status: 200 },
  { name: 'log of a connection, 404', path: '/automation/connections/none/log', status: 404 },
];
const REQUESTS_OF_LIST = 60;
/** More of a user are refused while these run or wait. */
const LISTS_OF_USER = 10;
/** They poll and send a lead with each token, so that the lists have rows. */
const USERS_WITH_ROWS = 10;
const TOKENS_OF_USER = 30;

/** Twice so many requests of a user are below 600 a minute, and all of them are kept: below 500 and 8 MiB of a user, and 16 MiB in all. */
const REFUSED = [
  { name: 'refused, then accepted', users: [10, 11, 12, 13], requests: 225, leads: 1 },
  { name: 'refused, then accepted, 64 KiB', users: [34, 35, 36, 37], requests: 60, leads: 8 },
];
const UPLOADERS = { 'one user': [14], '4 users': [15, 16, 17, 18] };
const UPLOADS_OF_USER = 8;
/** 600 bodies are below 30,000 leads a minute. */
const LEADS_OF_BODY = 45;

/** The users who ask for lists during a lock, from this number on. */
const LOCKED_USERS = 20;

/** Requests of a user of the loaded company. */
interface LoadClient {
  get(user: number, path: string): Promise<Answer>;
  post(user: number, body: string): Promise<Answer>;
}

/** Each client sends one request after the other, until there is no further one. Counts the answers by status. */
type CountAnswers = (clients: number, next: (client: number) => Promise<Answer> | undefined) => Promise<void>;
type Load = (client: LoadClient, count: CountAnswers) => Promise<void>;

/** Requests for a branch that does not exist: they are refused and kept. Once it exists, the same bodies are accepted, and no row is left. */
const refuseThenAccept =
  (home: Home, { users, requests, leads }: (typeof REFUSED)[number]): Load =>
  async ({ post }, count) => {
    const branchId = `branch-of-${users[0]}`;
    // 7 kB.
    const leadWith = (n: number, index: number) => ({
      ...{ branchId, firstName: `First${n}`, lastName: `Last${index}`, email: `person-${n}@mail.example` },
      images: Array.from({ length: 50 }, (_, image) => `https://images.example.com/${n}/${image}.jpg`),
      customFields: Object.fromEntries(
        Array.from({ length: 50 }, (_, field) => [`question${field}`, `word${n + field} `.repeat(9)]),
      ),
    });
    const bodyOf = (n: number) =>
      JSON.stringify(Array.from({ length: leads }, (_, index) => leadWith(n, index)));
    const sendAll = async () => {
      const sent = users.map(() => 0);
      await count(users.length, (client) => {
        const n = sent[client] ?? 0;
        sent[client] = n + 1;
        const user = users[client] ?? 0;
        return n < requests ? post(user, bodyOf(1000 * user + n)) : undefined;
      });
    };
    await sendAll();
    const kept = await countKept(home);
    if (kept !== users.length * requests) throw new Error(`${kept} refused requests are kept`);
    const branches = [{ id: branchId, name: 'New', departments: [] }];
    const company = { id: companyId(LOADED), name: 'Company 0', branches, users: [] };
    await leadtap(home, ['org', 'apply', '-'], [JSON.stringify({ companies: [company] })]);
    await sendAll();
    // They are removed a second after they were accepted, in parts.
    await pause(2500);
  };

async function countKept(home: Home): Promise<number> {
  const argv = ['leads', 'refused', 'list', '--company', companyId(LOADED), '--json'];
  const listed: readonly unknown[] = JSON.parse(await leadtap(home, argv));
  return listed.length;
}

const listLoad =
  (user: number, path: string): Load =>
  ({ get }, count) => {
    let sent = 0;
    return count(REQUESTS_OF_LIST, () => (sent++ < REQUESTS_OF_LIST ? get(user, path) : undefined));
  };

/** Arrays of just under 64 KiB, which are held, and under 1 MiB in turn. Each lead has two errors. */
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
  await client.query('BEGIN; LOCK TABLE leadtap.connections, leadtap.connection_keys IN EXCLUSIVE MODE');
  await client.query('SELECT leadtap.lock_companies($1)', [[companyId(LOADED)]]);
  return () => client.end();
}

/** The longest poll, and the longest of lists that begin at once: of several users, and of one with as many as it may have. */
async function measureLocked(
  { get, post }: LoadClient,
  { readSliceMs }: MeasuredInstance,
  dataset: Dataset,
  store: 'sqlite' | 'postgres',
) {
  const expectStatus = async (expected: number, sent: Promise<Answer>) => {
    const { status, ms } = await sent;
    if (status !== expected) throw new Error(`${status} instead of ${expected} during a lock`);
    return ms;
  };
  const poll = (user: number) => expectStatus(200, get(LOCKED_USERS + user, '/automation/new-leads?limit=1'));
  const list = (user: number, n: number) => {
    const { path, status } = LISTS[n % LISTS.length] ?? { path: '', status: 0 };
    return expectStatus(status, get(LOCKED_USERS + user, path));
  };
  const users = [0, 1, 2, 3, 4, 5, 6, 7];
  const one = 8;
  // Each list has something to write first.
  for (const user of [...users, one])
    await Promise.all([
      poll(user),
      expectStatus(201, post(LOCKED_USERS + user, JSON.stringify(leadOf(user)))),
    ]);
  const unlock = await takeLock(dataset, store);
  try {
    await readSliceMs();
    const pollMs = Math.max(await poll(9), await poll(10));
    const ofUsers = await Promise.all(users.map((user) => list(user, user)));
    const ofOne = await Promise.all(Array.from({ length: LISTS_OF_USER }, (_, n) => list(one, n)));
    const sliceMs = await readSliceMs();
    return { pollMs, listMs: Math.max(...ofUsers), listOfOneMs: Math.max(...ofOne), sliceMs };
  } finally {
    await unlock();
  }
}

async function measureStore(bench: Bench, dataset: Dataset, store: 'sqlite' | 'postgres') {
  const seconds = bench.options.quick ? 1 : 5;
  const measured = await serveWithSlices(bench, dataset[store], { LEADTAP_INTAKE: 'on' });
  const { instance } = measured;
  const tokenOf = (company: number, user: number) => dataset.tokens.get(userId(company, user)) ?? '';
  const client: LoadClient = {
    get: (user, path) => send(instance, tokenOf(LOADED, user), path),
    post: (user, body) => send(instance, tokenOf(LOADED, user), '/leads', body),
  };
  const users = Array.from({ length: OTHER_USERS }, (_, user) => user);
  const tokensOf = (companies: readonly number[]) =>
    users.flatMap((user) => companies.map((company) => tokenOf(company, user)));
  const others = new Others(measured, tokensOf(POLLING), tokensOf(SENDING));

  async function measureLoad(name: string, expected: readonly number[], load: Load) {
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
    const during = await others.observe(load(client, count));
    const unexpected = Object.keys(answers).filter((status) => !expected.includes(Number(status)));
    if (unexpected.length > 0) throw new Error(`${name} was answered with ${unexpected}`);
    return { name, before, during, answers };
  }

  await makeRows(instance, dataset.sqlite.folder);
  // Fills the caches.
  await others.observe(pause(600 * seconds));
  const loads = [];
  const left = [];
  for (const refused of REFUSED) {
    loads.push(await measureLoad(refused.name, [422, 201], refuseThenAccept(dataset[store], refused)));
    left.push({ name: refused.name, rows: await countKept(dataset[store]) });
  }
  // Those that a user may not have at once are answered with 429.
  for (const [user, { name, path, status }] of LISTS.entries())
    loads.push(await measureLoad(name, [status, 429], listLoad(user, path)));
  for (const [name, uploaders] of Object.entries(UPLOADERS))
    loads.push(
      await measureLoad(`large refused bodies of ${name}`, [422, 429], largeBodies(uploaders, seconds)),
    );
  bench.progress(`isolation, ${store}: lists during a lock`);
  const locked = await measureLocked(client, measured, dataset, store);
  await instance.stop();
  return { store, loads, left, locked };
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
    verdicts: figures.flatMap(({ store, loads, left, locked: { listMs, listOfOneMs, pollMs, sliceMs } }) => {
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
        ...left.map(({ name, rows }) => atMost(0, rows, nameOf(`${name}: kept requests that are left`))),
        atMost(targets.others, listMs / pollMs, nameOf('during a lock: lists, compared with polls')),
        atMost(
          targets.others,
          listOfOneMs / pollMs,
          nameOf(`during a lock: ${LISTS_OF_USER} lists of one user`),
        ),
        atMost(targets.sliceMs, sliceMs, nameOf('during a lock: longest slice, ms')),
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
