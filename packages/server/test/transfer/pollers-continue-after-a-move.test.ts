import type { Lead } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { loadDriver } from '../../src/store/sqlite/connection.ts';
import { runMove } from './commands.ts';
import { type Endpoints, makeEndpoints } from './endpoints.ts';
import { makeToken, queryOfLink, type Served, serve } from './served.ts';
import { StoreProcess } from './store-process.ts';

const LIMIT = 5;
const FROM_THE_BEGINNING = `since=2020-01-01&limit=${LIMIT}`;

/** Returns the next query of a client, from the answer to the last one. */
type NextQuery = (response: Response, page: readonly Lead[], query: string) => string;

const lastLead: NextQuery = (_, page, query) => {
  const last = page.at(-1);
  return last ? `since=${last.createdAt}&limit=${LIMIT}` : query;
};

const link: NextQuery = queryOfLink;

/** Continues from the last lead while pages are full, then from the `Date` of the answer. */
const date: NextQuery = (response, page, query) =>
  page.length === LIMIT
    ? lastLead(response, page, query)
    : `since=${new Date(response.headers.get('date') ?? '').toISOString()}&limit=${LIMIT}`;

class Poller {
  readonly #nextQuery: NextQuery;
  readonly received: string[] = [];
  #query = FROM_THE_BEGINNING;

  constructor(nextQuery: NextQuery) {
    this.#nextQuery = nextQuery;
  }

  get since(): number {
    return Date.parse(new URLSearchParams(this.#query).get('since') ?? '');
  }

  /** True when there may be more leads. */
  async poll(service: Served, token: string): Promise<boolean> {
    const response = await service.poll(token, this.#query);
    const page = (await response.json()) as Lead[];
    this.received.push(...page.map(({ id }) => id));
    this.#query = this.#nextQuery(response, page, this.#query);
    return page.length === LIMIT;
  }

  async pollAll(service: Served, token: string): Promise<void> {
    while (await this.poll(service, token));
  }
}

const OLD = Array.from({ length: 23 }, (_, index) => `old-${index}`);
const NEW = Array.from({ length: 12 }, (_, index) => `new-${index}`);
const HOUR_MS = 3_600_000;

/** Sets the clock of the new database back by an hour. */
const setClockBack = ({ sql }: Endpoints) =>
  sql(`CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
         RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - ${HOUR_MS}`);

const addBySql = ({ sql }: Endpoints, companyId: string, id: string) =>
  sql(`INSERT INTO leadtap.leads (company_id, id) VALUES ('${companyId}', '${id}')`);

function runInFile({ file }: Endpoints, ...statements: readonly string[]): void {
  const { DatabaseSync } = loadDriver();
  const database = new DatabaseSync(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}

/** As a burst, or a clock that was ahead, does. */
const raiseStamps = (endpoints: Endpoints, companyId: string, stamp: number) =>
  runInFile(
    endpoints,
    `UPDATE companies SET last_stamp = max(last_stamp, ${stamp}) WHERE id = '${companyId}'`,
  );

async function firstStamp({ sql }: Endpoints, companyId: string, like: string): Promise<number> {
  const [row] = await sql(
    `SELECT leadtap.to_ms(min(created_at)) AS first FROM leadtap.leads WHERE company_id = '${companyId}' AND id LIKE '${like}'`,
  );
  return Number(row?.['first']);
}

/** The last stamps of one were like the clock, those of the other ten minutes ahead of it. */
const FEEDS = [
  { company: 'acme', user: 'boss', aheadMs: 0 },
  { company: 'globex', user: 'rival', aheadMs: 600_000 },
] as const;

test('no lead is lost, also where the last stamps were ahead of the clock', async () => {
  const endpoints = await makeEndpoints();
  const store = new StoreProcess(endpoints.from);
  await store.call('applyOrganisation', ORGANISATION);
  const feeds = [];
  for (const { company, user, aheadMs } of FEEDS) {
    const stamps = await store.add(OLD.map((id) => ({ companyId: company, id, fields: {} })));
    raiseStamps(endpoints, company, Date.now() + aheadMs);
    stamps.push(...(await store.add([{ companyId: company, id: 'ahead', fields: {} }])));
    const pollers = { lastLead: new Poller(lastLead), link: new Poller(link), date: new Poller(date) };
    feeds.push({ company, user, stamps, pollers });
  }
  await store.close();

  const old = await serve(endpoints, endpoints.from);
  const polled = [];
  for (const { user, stamps, pollers, ...feed } of feeds) {
    const token = await makeToken(endpoints, user, 'token-1');
    for (const poller of [pollers.lastLead, pollers.link]) {
      await poller.poll(old, token);
      await poller.poll(old, token);
    }
    await pollers.date.pollAll(old, token);
    polled.push({ ...feed, token, pollers, latest: Math.max(...stamps, pollers.date.since) });
  }
  await old.stop();

  expect((await runMove(endpoints)).code).toBe(0);
  await setClockBack(endpoints);

  const moved = await serve(endpoints, endpoints.to);
  for (const { company, token, pollers, latest } of polled) {
    for (const poller of Object.values(pollers)) await poller.pollAll(moved, token);
    for (const id of NEW) {
      await addBySql(endpoints, company, id);
      if (id === 'new-5') for (const poller of Object.values(pollers)) await poller.pollAll(moved, token);
    }
    for (const poller of Object.values(pollers)) await poller.pollAll(moved, token);

    const all = [...OLD, 'ahead', ...NEW].sort();
    expect([...pollers.lastLead.received].sort()).toEqual(all);
    expect([...pollers.link.received].sort()).toEqual(all);
    expect([...new Set(pollers.date.received)].sort()).toEqual(all);
    expect(await firstStamp(endpoints, company, 'new-%')).toBeGreaterThan(latest);
  }
  await moved.stop();
});

test('the stamp of a deleted lead is not given again', async () => {
  const endpoints = await makeEndpoints();
  const store = new StoreProcess(endpoints.from);
  await store.call('applyOrganisation', ORGANISATION);
  raiseStamps(endpoints, 'acme', Date.now() + HOUR_MS);
  const [stamp = 0] = await store.add([{ companyId: 'acme', id: 'deleted', fields: {} }]);
  await store.close();
  runInFile(endpoints, 'DELETE FROM leads');

  expect((await runMove(endpoints)).code).toBe(0);
  await addBySql(endpoints, 'acme', 'new');
  expect(await firstStamp(endpoints, 'acme', 'new')).toBeGreaterThan(stamp);
});

test('a deleted company continues after its last stamp when it is inserted again after the move', async () => {
  const endpoints = await makeEndpoints();
  const store = new StoreProcess(endpoints.from);
  await store.call('applyOrganisation', ORGANISATION);
  raiseStamps(endpoints, 'acme', Date.now() + HOUR_MS);
  const [stamp = 0] = await store.add([{ companyId: 'acme', id: 'deleted', fields: {} }]);
  await store.close();
  const tables = ['leads', 'users', 'departments', 'branches', 'statuses'];
  runInFile(endpoints, ...tables.map((name) => `DELETE FROM ${name} WHERE company_id = 'acme'`));
  runInFile(endpoints, `DELETE FROM companies WHERE id = 'acme'`);

  // Twice, like an interrupted move that is run again.
  for (let n = 0; n < 2; n += 1) expect((await runMove(endpoints)).code).toBe(0);
  const again = new StoreProcess(endpoints.to);
  await again.call('applyOrganisation', ORGANISATION);
  const [next] = await again.add([{ companyId: 'acme', id: 'new', fields: {} }]);
  await again.close();
  expect(next).toBeGreaterThan(stamp);
});
