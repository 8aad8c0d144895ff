import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { beforeAll, describe, expect, it } from 'vitest';
import { startService } from '../../../../testing/harness/service.ts';
import { untilChangesAreTracked } from '../../cache/support/change-tracking.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';
import { startWatching } from './watcher.ts';

const cleanUps: (() => void | Promise<void>)[] = [];
let url: string;
let client: Client;

beforeAll(async () => {
  const whenDone = (cleanUp: () => void | Promise<void>) => void cleanUps.unshift(cleanUp);
  ({ url } = await databaseWithCompanies(whenDone));
  client = await connectSql(url, whenDone);
  await client.query(`INSERT INTO leadtap.leads (company_id, id, department_id)
    VALUES ('acme', 'x', 'sales'), ('acme', 'y', 'sales'), ('globex', 'x', 'sales')`);
  return async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  };
});

/** The changes that a revalidation after the statements reports. */
async function changesAfter(...statements: readonly string[]) {
  const writer = await connectSql(url);
  const watcher = await startWatching(client);
  for (const statement of statements) await writer.query(statement);
  return watcher.revalidate();
}

describe('the next revalidation reports', () => {
  it.each<[string, string[], string]>([
    [
      'new leads',
      ['leads-appended acme'],
      `INSERT INTO leadtap.leads (company_id) VALUES ('acme'), ('acme')`,
    ],
    [
      'leads of two companies',
      ['leads-appended acme', 'leads-appended globex'],
      `INSERT INTO leadtap.leads (company_id) VALUES ('acme'), ('globex'), ('acme')`,
    ],
    [
      'the id of a lead that is there',
      ['company acme', 'leads-appended acme'],
      `INSERT INTO leadtap.leads (company_id, id, first_name) VALUES ('acme', 'x', 'Ada')`,
    ],
    [
      'a changed lead',
      ['company acme'],
      `UPDATE leadtap.leads SET first_name = 'Ada' WHERE company_id = 'acme'`,
    ],
    [
      'changed leads of two',
      ['company acme', 'company globex'],
      `UPDATE leadtap.leads SET first_name = 'Eve'`,
    ],
    ['a deleted lead', ['company acme'], `DELETE FROM leadtap.leads WHERE company_id = 'acme' AND id = 'y'`],
    ['a plan', ['user boss'], `UPDATE leadtap.users SET plan = 'STARTER' WHERE id = 'boss'`],
    [
      'a user who is written again',
      ['user boss'],
      `INSERT INTO leadtap.users (id, company_id, plan, access_level) VALUES ('boss', 'acme', 'STARTER', 'COMPANY')
       ON CONFLICT (id) DO UPDATE SET plan = excluded.plan`,
    ],
    [
      'users with another id',
      ['user starter'],
      `UPDATE leadtap.users SET id = 'beginner' WHERE id = 'starter'`,
    ],
    [
      'users who were removed',
      ['user rival', 'user rival-north'],
      `DELETE FROM leadtap.users WHERE id IN ('rival', 'rival-north')`,
    ],
    ['a revoked token', ['token t'], `INSERT INTO leadtap.revoked_tokens VALUES ('t', now())`],
    [
      'another token in its place',
      ['token u'],
      `UPDATE leadtap.revoked_tokens SET token_id = 'u' WHERE token_id = 't'`,
    ],
    [
      'the name of a company',
      ['company acme'],
      `UPDATE leadtap.companies SET name = 'Acme & Co' WHERE id = 'acme'`,
    ],
    [
      'the name of a branch',
      ['company acme'],
      `UPDATE leadtap.branches SET name = 'Up' WHERE company_id = 'acme'`,
    ],
    [
      'the name of a department',
      ['company acme'],
      `UPDATE leadtap.departments SET name = 'Up' WHERE company_id = 'acme'`,
    ],
    [
      'the label of a status',
      ['company acme'],
      `UPDATE leadtap.statuses SET label = 'Up' WHERE company_id = 'acme'`,
    ],
    [
      'nothing, where no row was changed',
      [],
      `UPDATE leadtap.leads SET first_name = 'Eve' WHERE id = 'none'`,
    ],
    [
      'nothing, where all was undone',
      [],
      `BEGIN; INSERT INTO leadtap.leads (company_id) VALUES ('acme'); ROLLBACK`,
    ],
    [
      'nothing, for a new user',
      [],
      `INSERT INTO leadtap.users (id, company_id, plan, access_level) VALUES ('new', 'acme', 'X', 'COMPANY')`,
    ],
  ])('%s', async (_what, expected, statement) => {
    expect(await changesAfter(statement)).toEqual(expected);
  });

  it('a lead in the past, which no poll would find behind the newest', async () => {
    const changes = await changesAfter(`BEGIN; SET LOCAL leadtap.historical = 'on';
      INSERT INTO leadtap.leads (company_id, created_at) VALUES ('acme', '2020-05-01'); COMMIT`);
    expect(changes).toContain('company acme');
  });

  it('a COPY', async () => {
    const writer = await connectSql(url);
    const watcher = await startWatching(client);
    const copy = writer.query(copyFrom('COPY leadtap.leads (company_id) FROM STDIN'));
    await pipeline(Readable.from(['acme\n', 'globex\n']), copy);
    expect(await watcher.revalidate()).toEqual(['leads-appended acme', 'leads-appended globex']);
  });

  it.each(['leads', 'users'])('anything, after a TRUNCATE of %s', async (table) => {
    const { url: other } = await databaseWithCompanies();
    const truncating = await connectSql(other);
    const watcher = await startWatching(truncating);
    await truncating.query(`TRUNCATE leadtap.${table}`);
    expect(await watcher.revalidate()).toBeUndefined();
    expect(await watcher.revalidate()).toEqual([]);
  });
});

describe('a savepoint that is rolled back', () => {
  it('hides no other change of the transaction', async () => {
    const changes = await changesAfter(`BEGIN;
      UPDATE leadtap.users SET name = 'Before' WHERE id = 'boss';
      SAVEPOINT s; UPDATE leadtap.users SET name = 'Never' WHERE id = 'seller'; ROLLBACK TO s;
      UPDATE leadtap.companies SET name = 'After' WHERE id = 'globex';
      COMMIT`);
    expect(changes).toEqual(['company globex', 'user boss']);
  });

  it.each([
    ['a lead', 'leads-appended acme', `INSERT INTO leadtap.leads (company_id) VALUES ('acme')`],
    ['a change', 'company acme', `UPDATE leadtap.leads SET last_name = 'Z' WHERE company_id = 'acme'`],
  ])('and then %s again, is reported', async (_what, expected, statement) => {
    const changes = await changesAfter(
      `BEGIN; SAVEPOINT s; ${statement}; ROLLBACK TO s; ${statement}; COMMIT`,
    );
    expect(changes).toEqual([expected]);
  });
});

describe('a transaction that is open for long', () => {
  it('is reported when it commits, whatever others have committed since', async () => {
    const [slow, fast] = [await connectSql(url), await connectSql(url)];
    const early = await startWatching(client);
    await slow.query(`BEGIN; INSERT INTO leadtap.leads (company_id) VALUES ('globex')`);
    const late = await startWatching(client);
    for (let n = 0; n < 3; n += 1) {
      await fast.query(`INSERT INTO leadtap.leads (company_id) VALUES ('acme')`);
      expect(await late.revalidate()).toEqual(['leads-appended acme']);
    }
    expect(await late.revalidate()).toEqual([]);
    await slow.query('COMMIT');
    expect(await late.revalidate()).toEqual(['leads-appended globex']);
    expect(await early.revalidate()).toEqual(['leads-appended acme', 'leads-appended globex']);
    expect([await late.revalidate(), await early.revalidate()]).toEqual([[], []]);
  });
});

it('more than a thousand missed changes invalidate everything', async () => {
  const watcher = await startWatching(client);
  await client.query(
    `INSERT INTO leadtap.revoked_tokens SELECT 'many-' || n, now() FROM generate_series(1, 1000) AS n`,
  );
  const other = watcher.copy();
  expect(await watcher.revalidate()).toHaveLength(1000);
  await client.query(`INSERT INTO leadtap.revoked_tokens VALUES ('one-more', now())`);
  expect(await other.revalidate()).toBeUndefined();
  expect(await watcher.revalidate()).toEqual(['token one-more']);
});

it('a lead before 1970 is the first of its company, and in the next poll', async () => {
  const { database, store, token, poll } = await startService();
  const writer = await connectSql(database.url);
  await untilChangesAreTracked(store);
  const init = { headers: { authorization: `Bearer ${await token('rival')}` } };
  const ids = async (query = '') => {
    const leads = (await (await poll('rival', query, init)).json()) as { id: string }[];
    return leads.map(({ id }) => id);
  };
  const since = 'since=1900-01-01T00:00:00Z';
  for (let n = 0; n < 2; n += 1) expect([await ids(), await ids(since)]).toEqual([[], []]);
  await writer.query(`BEGIN; SET LOCAL leadtap.historical = 'on';
    INSERT INTO leadtap.leads (company_id, id, created_at) VALUES ('globex', 'old', '1955-01-01'); COMMIT`);
  expect([await ids(), await ids(since)]).toEqual([['old'], ['old']]);
});
