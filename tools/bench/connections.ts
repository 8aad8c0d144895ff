import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Store } from 'leadtap';
import {
  type Bench,
  type Dataset,
  makeDataset,
  measureStores,
  openStore,
  query,
  type Result,
  type Section,
} from './bench.ts';
import { STORES } from './contestants.ts';
import { companyId, leadOf, type Shape, type Tokens, userId, WHOLE_COMPANY } from './data.ts';
import { addCopies } from './growth.ts';
import { send, serveWithSlices } from './others.ts';
import { atMost, median, millis, percent, whole } from './report.ts';
import { type Instance, processorTimes, spentMs } from './service.ts';
import { TARGETS } from './targets.ts';

/** Companies: one with 300 automations and a million deliveries, one whose 1,000 automations get 100 leads at once, and the others. */
const [LISTED, BUSY] = [0, 1] as const;
const LISTED_USERS = 300;
const DAY_MS = 24 * 3600_000;
const LEADS_AT_ONCE = 100;
const BATCH = 50;
const ROUNDS = 10;
const AUDIT_SECONDS = 60;
const LEADS_PER_SECOND = 100;
const AUDITED = 10;

interface Sizes {
  readonly companies: number;
  readonly busyUsers: number;
  readonly leads: number;
  readonly imported: number;
}
const SIZES: Sizes = { companies: 1000, busyUsers: 1000, leads: 1_000_000, imported: 20_000 };
const QUICK: Sizes = { companies: 20, busyUsers: 50, leads: 20_000, imported: 10_000 };

const shapeOf = ({
  companies,
  busyUsers,
  leads,
  imported,
}: Sizes): Shape & Required<Pick<Shape, 'history'>> => ({
  companies,
  usersOf: (company) => (company === LISTED ? LISTED_USERS : company === BUSY ? busyUsers : 1),
  places: WHOLE_COMPANY,
  history: {
    leads: imported,
    intervalMs: Math.floor((300 * DAY_MS) / leads),
    companyOf: (n) => (n % 30 === 0 ? LISTED : 2 + (n % (companies - 2))),
  },
});

/** All automations ask until their page is empty, and worked long ago. Those of one company were sent its leads of 30 days. */
const fillSql = (from: (ms: number) => string, now: number): readonly string[] => [
  `UPDATE leadtap.connections SET worked_at = first_at, start_stamp = ${from(now - 40 * DAY_MS)}`,
  `INSERT INTO leadtap.deliveries (created_at, connection, sent_at)
     SELECT l.created_at, c.id, l.created_at FROM leadtap.leads AS l JOIN leadtap.connections AS c ON c.company_id = l.company_id
      WHERE l.company_id = '${companyId(LISTED)}' AND l.created_at > ${from(now - 30 * DAY_MS)}`,
  ...Array.from(
    { length: 24 },
    (_, hour) => `INSERT INTO leadtap.activity_hours (connection, hour, leads, updated, failed)
      SELECT c.id, ${Math.floor(now / 3600_000) - hour - 1}, 5, 0, 0 FROM leadtap.connections AS c`,
  ),
];

async function fill({ sqlite, postgresUrl }: Dataset, store: 'sqlite' | 'postgres'): Promise<void> {
  const now = Date.now();
  if (store === 'postgres') {
    await query(
      postgresUrl,
      ...fillSql((ms) => `leadtap.from_ms(${ms})`, now),
      'VACUUM ANALYZE',
      'CHECKPOINT',
    );
    return;
  }
  const database = new DatabaseSync(`${sqlite.folder}/leadtap.db`);
  for (const statement of fillSql(String, now)) database.exec(statement.replaceAll('leadtap.', ''));
  database.close();
}

const tokensOf = (tokens: Tokens, company: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => tokens.get(userId(company, n)) ?? '');

/** The id of an issued token, which is its key. */
const keyIdOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;

class Automations {
  readonly #instance: Instance;
  readonly #links = new Map<string, string>();

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  async pollAll(tokens: readonly string[]): Promise<void> {
    for (const token of tokens) {
      const path = this.#links.get(token) ?? `/automation/new-leads?since=${new Date().toISOString()}`;
      const { status, link } = await send(this.#instance, token, path);
      if (status !== 200) throw new Error(`a poll was answered with ${status}`);
      if (link !== undefined) this.#links.set(token, link);
    }
  }
}

/** Their stamps. */
async function writeLeads(store: Store, company: number, count: number): Promise<number[]> {
  const { results } = await store.writeLeads(
    Array.from({ length: count }, (_, n) => {
      const { branchId, departmentId, appointmentDateTime: _at, ...fields } = leadOf(n);
      return { companyId: companyId(company), branchId, departmentId, fields };
    }),
  );
  return results.flatMap((result) => (result.kind === 'added' ? [result.createdAt] : []));
}

/** Each has asked, and gets none, one, two or three leads that are new to it, or so many. */
const batchOf = (tokens: readonly string[], stamps: readonly number[], at: number, leads?: number) =>
  tokens.map((token, n) => {
    const createdAt = stamps.slice(0, leads ?? n % 4);
    const newest = createdAt.at(-1) ?? null;
    const link = newest ?? stamps[0] ?? 0;
    return {
      ...{
        userId: userId(LISTED, n),
        kind: 'poll' as const,
        keyId: keyIdOf(token),
        source: 'token' as const,
      },
      ...{ tokenExpiresAt: null, isKnownOnly: false, sends: [], pushes: [] },
      polls: [
        {
          ...{ firstAt: at, lastAt: at, times: 1, since: stamps[0] ?? 0, limit: 100 },
          ...{ status: 200, code: null, durationMs: 1 },
          page: { createdAt, oldest: createdAt[0] ?? null, newest, isFull: false, link, isSent: true },
        },
      ],
    };
  });

async function measureStore(bench: Bench, dataset: Dataset, sizes: Sizes, store: 'sqlite' | 'postgres') {
  bench.progress(`connections: ${store}`);
  const measured = await serveWithSlices(bench, dataset[store], {});
  const { instance, readSliceMs } = measured;
  const serverPids = store === 'postgres' ? [dataset.postgresPid] : [];
  /** Of these processes and of PostgreSQL. */
  const cost = async (pids: readonly number[], work: () => Promise<unknown>): Promise<number> => {
    const before = processorTimes([...pids, ...serverPids]);
    await work();
    return spentMs(before, processorTimes([...pids, ...serverPids]));
  };
  const medianCost = async (pids: readonly number[], work: (round: number) => Promise<unknown>) => {
    const costs: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) costs.push(await cost(pids, () => work(round)));
    return median(costs.slice(1));
  };
  const automations = new Automations(instance);
  const listed = tokensOf(dataset.tokens, LISTED, LISTED_USERS);
  const busy = tokensOf(dataset.tokens, BUSY, sizes.busyUsers);
  const others = Array.from(
    { length: sizes.companies - 2 },
    (_, n) => dataset.tokens.get(userId(n + 2, 0)) ?? '',
  );
  for (let time = 0; time < 2; time += 1) await automations.pollAll([...listed, ...busy, ...others]);
  // The recorder writes every 5 seconds.
  await pause(8000);
  await fill(dataset, store);
  const writer = await openStore(dataset, store);
  await writer.connections.audit();

  bench.progress(`connections: ${store}, ${whole(sizes.busyUsers)} automations get ${LEADS_AT_ONCE} leads`);
  await writeLeads(writer, BUSY, LEADS_AT_ONCE);
  await readSliceMs();
  await automations.pollAll(busy);
  await pause(8000);
  const sliceMs = await readSliceMs();

  bench.progress(`connections: ${store}, lists`);
  const [reader = ''] = listed;
  const listMs = await medianCost([instance.pid], async () => {
    const { status } = await send(instance, reader, '/automation/connections');
    if (status !== 200) throw new Error(`the list was answered with ${status}`);
  });
  const statusMs = await medianCost([instance.pid], async () => {
    const response = await fetch(new URL('/status.json', instance.metricsUrl));
    if (!response.ok) throw new Error(`the status was answered with ${response.status}`);
    await response.arrayBuffer();
  });
  await instance.stop();

  bench.progress(`connections: ${store}, batches and the audit`);
  const written = await writeLeads(writer, LISTED, 3 * (ROUNDS + 1));
  const batchMs = await medianCost([process.pid], (round) =>
    writer.connections.record(
      batchOf(listed.slice(0, BATCH), written.slice(3 * round, 3 * round + 3), Date.now() + round),
    ),
  );
  // A run looks at what came before the one before it. Ten automations were sent all of it, the others wait.
  await writer.connections.audit();
  for (let second = 0; second < AUDIT_SECONDS; second += 1) {
    const page = await writeLeads(writer, LISTED, LEADS_PER_SECOND);
    await writer.connections.record(batchOf(listed.slice(0, AUDITED), page, Date.now(), LEADS_PER_SECOND));
  }
  await writer.connections.audit();
  const auditMs = await cost([process.pid], () => writer.connections.audit());
  await writer.close();
  return { store, listMs, statusMs, batchMs, sliceMs, auditShare: auditMs / (AUDIT_SECONDS * 1000) };
}

async function measure(bench: Bench): Promise<Result> {
  const sizes = bench.options.quick ? QUICK : SIZES;
  const shape = shapeOf(sizes);
  const dataset = await makeDataset(bench, bench.checkout, 'connections', shape);
  bench.progress(`connections: ${whole(sizes.leads)} leads`);
  await addCopies(dataset, shape.history, sizes.leads);
  const stores = await measureStores(bench, (store) => measureStore(bench, dataset, sizes, store));
  const targets = TARGETS.connections;
  return {
    tables: [
      {
        title: 'What does it cost to know what was sent? Processor time of the instance and of PostgreSQL',
        isDetail: true,
        columns: ['', 'list of 300', 'status of 1,000 companies', 'batch of 50', 'audit', 'longest slice'],
        rows: stores.map(({ store, listMs, statusMs, batchMs, auditShare, sliceMs }) => [
          `Leadtap, ${STORES[store]}`,
          ...[listMs, statusMs, batchMs].map(millis),
          percent(auditShare),
          millis(sliceMs),
        ]),
      },
    ],
    verdicts: stores.flatMap(({ store, ...figures }) => [
      atMost(targets.listMs, figures.listMs, `connections, ${store}: list of 300, ms`),
      atMost(targets.statusMs, figures.statusMs, `connections, ${store}: status, ms`),
      atMost(targets.batchMs, figures.batchMs, `connections, ${store}: batch of 50, ms`),
      atMost(targets.auditShare, figures.auditShare, `connections, ${store}: audit, share of a core`),
      atMost(targets.sliceMs, figures.sliceMs, `connections, ${store}: longest slice, ms`),
    ]),
    figures: { sizes, stores },
  };
}

export const connections: Section = {
  name: 'connections',
  about: 'what it costs to know what was sent',
  measure,
};
