import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { migratePostgres } from '../../../src/store/postgres/store.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql } from './sql-client.ts';
import { pruneAfterMinutes, startWatching, Watcher } from './watcher.ts';

/** An open transaction in any database of a shared server would keep entries from being deleted. */
const { address, emptyDatabase } = ownCluster();

async function begin() {
  const url = address('postgres', await emptyDatabase());
  await migratePostgres(url);
  const client = await connectSql(url);
  const revoke = (token: string, by = client) =>
    by.query(`INSERT INTO leadtap.revoked_tokens VALUES ($1, now())`, [token]);
  const entries = async () => (await client.query('SELECT FROM leadtap.changes')).rowCount;
  return { url, client, revoke, entries };
}

describe('the change log', () => {
  it('deletes an entry with the second pruning, and a reader that has not read it learns that it missed something', async () => {
    const { client, revoke, entries } = await begin();
    const seldom = await startWatching(client);
    const often = seldom.copy();
    await revoke('a');
    await pruneAfterMinutes(client);
    expect(await often.revalidate()).toEqual(['token a']);
    await pruneAfterMinutes(client);
    expect(await entries()).toBe(0);
    expect(await often.revalidate()).toEqual([]);
    expect(await seldom.revalidate()).toBeUndefined();
    await revoke('b');
    expect([await often.revalidate(), await seldom.revalidate()]).toEqual([['token b'], ['token b']]);
  });

  it('is pruned once in five minutes, however often prune_changes is called', async () => {
    const { client, revoke, entries } = await begin();
    const seldom = await startWatching(client);
    await revoke('a');
    await pruneAfterMinutes(client);
    for (let n = 0; n < 3; n += 1) await client.query('SELECT leadtap.prune_changes()');
    expect(await seldom.revalidate()).toEqual(['token a']);
    expect(await entries()).toBeGreaterThan(0);
  });

  it('keeps the entries of a transaction that is open for longer than five minutes', async () => {
    const { url, client, revoke } = await begin();
    const slow = await connectSql(url);
    await slow.query('BEGIN');
    await revoke('slow', slow);
    const watcher = await startWatching(client);
    for (let n = 0; n < 4; n += 1) {
      await pruneAfterMinutes(client);
      await revoke(`fast-${n}`);
      expect(await watcher.revalidate()).toEqual([`token fast-${n}`]);
    }
    await slow.query('COMMIT');
    expect(await watcher.revalidate()).toEqual(['token slow']);
  });
});

/** Steps of two readers, of a fast and a slow writer, and of the pruning. */
type Step = 'read often' | 'read seldom' | 'write' | 'begin' | 'commit' | 'roll back' | 'prune';
const step = fc.constantFrom<Step>(
  ...([
    'read often',
    'read often',
    'read seldom',
    'write',
    'write',
    'begin',
    'commit',
    'roll back',
    'prune',
  ] as const),
);

it('in any order of reads, writes and prunings, a reader that reads between two prunings gets every change', async () => {
  const { url, client, revoke } = await begin();
  const slow = await connectSql(url);
  let tokens = 0;
  /** Revocations of tokens that share a lock would wait for each other, so the two writers use different locks. */
  const nextToken = async (parity: number) => {
    const { rows } = await client.query(
      'SELECT n FROM generate_series($1::integer, $1 + 100) AS n WHERE leadtap.account_lock(n::text) % 2 = $2 ORDER BY n LIMIT 1',
      [tokens + 1, parity],
    );
    return Number(rows[0].n);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
      const watchers = { often: await newReader(client), seldom: await newReader(client) };
      let open: string[] | undefined;
      const write = async (by: Client) => {
        tokens = await nextToken(by === slow ? 1 : 0);
        await revoke(`${tokens}`, by);
        return `token ${tokens}`;
      };
      const committed = (changes: readonly string[]) => {
        for (const { missed } of Object.values(watchers)) for (const change of changes) missed.add(change);
      };
      for (const what of [...steps, 'commit', 'read often', 'read seldom'] as const) {
        if (what === 'read often') await watchers.often.revalidate();
        if (what === 'read seldom') await watchers.seldom.revalidate();
        if (what === 'write') committed([await write(client)]);
        if (what === 'begin' && !open) {
          await slow.query('BEGIN');
          open = [];
        }
        if (what === 'begin') open?.push(await write(slow));
        if (what === 'commit' || what === 'roll back') {
          await slow.query(what === 'commit' ? 'COMMIT' : 'ROLLBACK');
          if (what === 'commit') committed(open ?? []);
          open = undefined;
        }
        if (what === 'prune') {
          await pruneAfterMinutes(client);
          // It reads after every pruning.
          await watchers.often.revalidate();
        }
      }
      assert(watchers.often.gotChanges, 'a reader that reads after every pruning gets the changes each time');
    }),
    { numRuns: 40 },
  );
});

/** A watcher that checks that it gets all changes that it has missed, or learns that anything may have changed. */
async function newReader(client: Client) {
  const watcher = await startWatching(client);
  const missed = new Set<string>();
  const reader = {
    missed,
    gotChanges: true,
    revalidate: async () => {
      const changes = await watcher.revalidate();
      reader.gotChanges &&= changes !== undefined;
      if (changes)
        assert.deepEqual(
          [...missed].filter((change) => !changes.includes(change)),
          [],
        );
      missed.clear();
    },
  };
  return reader;
}

describe('after a restore from another server', () => {
  it('entries of transactions with ids in the future are reported until they are deleted', async () => {
    const { client, revoke, entries } = await begin();
    await client.query(`INSERT INTO leadtap.changes VALUES ('999999999', 'company', 'acme')`);
    const watcher = await startWatching(client);
    for (let n = 0; n < 2; n += 1) expect(await watcher.revalidate()).toEqual(['company acme']);
    await pruneAfterMinutes(client);
    expect(await entries()).toBe(0);
    expect(await watcher.revalidate()).toEqual([]);
    await revoke('a');
    expect(await watcher.revalidate()).toEqual(['token a']);
  });

  it('a log that is pruned up to ids in the future reports nothing until the next pruning, and then everything', async () => {
    const { client, revoke } = await begin();
    const watcher = await startWatching(client);
    await client.query(
      `UPDATE leadtap.change_log_state SET pruned_below = '999999999', next_pruned_below = '999999999'`,
    );
    await revoke('a');
    expect(await watcher.revalidate()).toBeUndefined();
    await pruneAfterMinutes(client);
    await watcher.revalidate();
    await revoke('b');
    expect(await watcher.revalidate()).toEqual(['token b']);
  });
});

it('a revalidation without READ COMMITTED is refused', async () => {
  const { client } = await begin();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await expect(new Watcher(client).revalidate()).rejects.toThrow(
    'polls need the isolation level READ COMMITTED',
  );
  await client.query('ROLLBACK');
});
