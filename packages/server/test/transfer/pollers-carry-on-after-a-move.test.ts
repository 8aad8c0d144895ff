import type { Lead } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { loadDriver } from '../../src/store/sqlite/connection.ts';
import { moveUp } from './commands.ts';
import { type Ends, makeEnds } from './ends.ts';
import { makeToken, nextQuery, type Served, serve } from './served.ts';
import { StoreProcess } from './store-process.ts';

const LIMIT = 5;
const FROM_THE_BEGINNING = `since=2020-01-01&limit=${LIMIT}`;

/** What a client remembers of an answer, as the question that it asks next. */
type Remember = (response: Response, page: readonly Lead[], question: string) => string;

const lastLead: Remember = (_, page, question) => {
  const last = page.at(-1);
  return last ? `since=${last.createdAt}&limit=${LIMIT}` : question;
};

const link: Remember = nextQuery;

/** While pages are full it goes on from the last lead; the time of the answer is for the next time it wakes. */
const date: Remember = (response, page, question) =>
  page.length === LIMIT
    ? lastLead(response, page, question)
    : `since=${new Date(response.headers.get('date') ?? '').toISOString()}&limit=${LIMIT}`;

class Poller {
  readonly #remember: Remember;
  readonly received: string[] = [];
  #question = FROM_THE_BEGINNING;

  constructor(remember: Remember) {
    this.#remember = remember;
  }

  get since(): number {
    return Date.parse(new URLSearchParams(this.#question).get('since') ?? '');
  }

  /** True when there may be more. */
  async poll(service: Served, token: string): Promise<boolean> {
    const response = await service.poll(token, this.#question);
    const page = (await response.json()) as Lead[];
    this.received.push(...page.map(({ id }) => id));
    this.#question = this.#remember(response, page, this.#question);
    return page.length === LIMIT;
  }

  async pollAll(service: Served, token: string): Promise<void> {
    while (await this.poll(service, token));
  }
}

const OLD = Array.from({ length: 23 }, (_, index) => `old-${index}`);
const NEW = Array.from({ length: 12 }, (_, index) => `new-${index}`);
const HOUR_MS = 3_600_000;

/** From now on the clock of the new database is an hour behind. */
const setClockBack = ({ sql }: Ends) =>
  sql(`CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
         RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - ${HOUR_MS}`);

const addBySql = ({ sql }: Ends, companyId: string, id: string) =>
  sql(`INSERT INTO leadtap.leads (company_id, id) VALUES ('${companyId}', '${id}')`);

function runInFile({ file }: Ends, ...statements: readonly string[]): void {
  const { DatabaseSync } = loadDriver();
  const database = new DatabaseSync(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}

async function firstStamp({ sql }: Ends, like: string): Promise<number> {
  const [row] = await sql(
    `SELECT leadtap.to_ms(min(created_at)) AS first FROM leadtap.leads WHERE id LIKE '${like}'`,
  );
  return Number(row?.['first']);
}

test.each([
  { company: 'acme', user: 'boss', ahead: 0, stamps: 'like the clock' },
  { company: 'globex', user: 'rival', ahead: 600_000, stamps: 'ten minutes ahead of the clock' },
])('no lead is lost where the last stamps were $stamps', async ({ company, user, ahead }) => {
  const ends = await makeEnds();
  const store = new StoreProcess(ends.from);
  await store.call('applyOrganisation', ORGANISATION);
  const inputs = OLD.map((id) => ({ companyId: company, id, fields: {} }));
  const future = { companyId: company, id: 'ahead', createdAt: Date.now() + ahead, fields: {} };
  const stamps = [...(await store.add(inputs)), ...(await store.add([future], { historical: true }))];
  await store.close();

  const pollers = { lastLead: new Poller(lastLead), link: new Poller(link), date: new Poller(date) };
  const old = await serve(ends, ends.from);
  const token = await makeToken(ends, user, 'token-1');
  for (const poller of [pollers.lastLead, pollers.link]) {
    await poller.poll(old, token);
    await poller.poll(old, token);
  }
  await pollers.date.pollAll(old, token);
  await old.stop();
  const known = Math.max(...stamps, pollers.date.since);

  expect((await moveUp(ends)).code).toBe(0);
  await setClockBack(ends);

  const moved = await serve(ends, ends.to);
  for (const poller of Object.values(pollers)) await poller.pollAll(moved, token);
  for (const id of NEW) {
    await addBySql(ends, company, id);
    if (id === 'new-5') for (const poller of Object.values(pollers)) await poller.pollAll(moved, token);
  }
  for (const poller of Object.values(pollers)) await poller.pollAll(moved, token);
  await moved.stop();

  const all = [...OLD, 'ahead', ...NEW].sort();
  expect([...pollers.lastLead.received].sort()).toEqual(all);
  expect([...pollers.link.received].sort()).toEqual(all);
  expect([...new Set(pollers.date.received)].sort()).toEqual(all);
  expect(await firstStamp(ends, 'new-%')).toBeGreaterThan(known);
});

test('the stamp of a lead that was deleted is not given again', async () => {
  const ends = await makeEnds();
  const store = new StoreProcess(ends.from);
  await store.call('applyOrganisation', ORGANISATION);
  const deleted = { companyId: 'acme', id: 'deleted', createdAt: Date.now() + HOUR_MS, fields: {} };
  const [stamp = 0] = await store.add([deleted], { historical: true });
  await store.close();
  runInFile(ends, 'DELETE FROM leads');

  expect((await moveUp(ends)).code).toBe(0);
  await addBySql(ends, 'acme', 'new');
  expect(await firstStamp(ends, 'new')).toBeGreaterThan(stamp);
});

test('a company that was deleted continues after its last stamp when it is inserted again after the move', async () => {
  const ends = await makeEnds();
  const store = new StoreProcess(ends.from);
  await store.call('applyOrganisation', ORGANISATION);
  const deleted = { companyId: 'acme', id: 'deleted', createdAt: Date.now() + HOUR_MS, fields: {} };
  const [stamp = 0] = await store.add([deleted], { historical: true });
  await store.close();
  const tables = ['leads', 'users', 'departments', 'branches', 'statuses'];
  runInFile(ends, ...tables.map((name) => `DELETE FROM ${name} WHERE company_id = 'acme'`));
  runInFile(ends, `DELETE FROM companies WHERE id = 'acme'`);

  // A second time, because a move that was interrupted is run again.
  for (let n = 0; n < 2; n += 1) expect((await moveUp(ends)).code).toBe(0);
  const again = new StoreProcess(ends.to);
  await again.call('applyOrganisation', ORGANISATION);
  const [next] = await again.add([{ companyId: 'acme', id: 'new', fields: {} }]);
  await again.close();
  expect(next).toBeGreaterThan(stamp);
});
