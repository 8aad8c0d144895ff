import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { migratePostgres } from '../../../src/store/postgres/store.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql } from './sql-client.ts';
import { startWatching, tendAfterMinutes, Watcher } from './watcher.ts';

/** Whoever has a transaction open, in any database of the server, would keep entries from being deleted. */
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

describe('the log of changes', () => {
  it('forgets an entry when it was tended twice since, and tells so whoever has not looked', async () => {
    const { client, revoke, entries } = await begin();
    const seldom = await startWatching(client);
    const often = seldom.copy();
    await revoke('a');
    await tendAfterMinutes(client);
    expect(await often.revalidate()).toEqual(['token a']);
    await tendAfterMinutes(client);
    expect(await entries()).toBe(0);
    expect(await often.revalidate()).toEqual([]);
    expect(await seldom.revalidate()).toBeUndefined();
    await revoke('b');
    expect([await often.revalidate(), await seldom.revalidate()]).toEqual([['token b'], ['token b']]);
  });

  it('is tended once in five minutes, however often that is asked for', async () => {
    const { client, revoke, entries } = await begin();
    const seldom = await startWatching(client);
    await revoke('a');
    await tendAfterMinutes(client);
    for (let n = 0; n < 3; n += 1) await client.query('SELECT leadtap.prune_changes()');
    expect(await seldom.revalidate()).toEqual(['token a']);
    expect(await entries()).toBeGreaterThan(0);
  });

  it('keeps the entries of a transaction that is open for longer than that', async () => {
    const { url, client, revoke } = await begin();
    const slow = await connectSql(url);
    await slow.query('BEGIN');
    await revoke('slow', slow);
    const watcher = await startWatching(client);
    for (let n = 0; n < 4; n += 1) {
      await tendAfterMinutes(client);
      await revoke(`fast-${n}`);
      expect(await watcher.revalidate()).toEqual([`token fast-${n}`]);
    }
    await slow.query('COMMIT');
    expect(await watcher.revalidate()).toEqual(['token slow']);
  });
});

/** Who looks, who writes at once, who writes slowly, and who tends. */
type Step = 'look often' | 'look seldom' | 'write' | 'begin' | 'commit' | 'roll back' | 'tend';
const step = fc.constantFrom<Step>(
  ...([
    'look often',
    'look often',
    'look seldom',
    'write',
    'write',
    'begin',
    'commit',
    'roll back',
    'tend',
  ] as const),
);

it('in any order of looking, writing and tending, whoever looks between two tendings is told of everything', async () => {
  const { url, client, revoke } = await begin();
  const slow = await connectSql(url);
  let tokens = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
      const watchers = { often: await newReader(client), seldom: await newReader(client) };
      let open: string[] | undefined;
      const write = async (by: Client) => {
        tokens += 1;
        await revoke(`${tokens}`, by);
        return `token ${tokens}`;
      };
      const committed = (changes: readonly string[]) => {
        for (const { missed } of Object.values(watchers)) for (const change of changes) missed.add(change);
      };
      for (const what of [...steps, 'commit', 'look often', 'look seldom'] as const) {
        if (what === 'look often') await watchers.often.revalidate();
        if (what === 'look seldom') await watchers.seldom.revalidate();
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
        if (what === 'tend') {
          await tendAfterMinutes(client);
          // As often as it is tended, it looks.
          await watchers.often.revalidate();
        }
      }
      assert(watchers.often.wasTold, 'it looked often enough to be told each time');
    }),
    { numRuns: 40 },
  );
});

/** A watcher that is told of all that it has missed, or that it may be anything. */
async function newReader(client: Client) {
  const watcher = await startWatching(client);
  const missed = new Set<string>();
  const reader = {
    missed,
    wasTold: true,
    revalidate: async () => {
      const told = await watcher.revalidate();
      reader.wasTold &&= told !== undefined;
      if (told)
        assert.deepEqual(
          [...missed].filter((change) => !told.includes(change)),
          [],
        );
      missed.clear();
    },
  };
  return reader;
}

describe('after a restore from another server', () => {
  it('entries of transactions that are still to come are told until they are deleted', async () => {
    const { client, revoke, entries } = await begin();
    await client.query(`INSERT INTO leadtap.changes VALUES ('999999999', 'company', 'acme')`);
    const watcher = await startWatching(client);
    for (let n = 0; n < 2; n += 1) expect(await watcher.revalidate()).toEqual(['company acme']);
    await tendAfterMinutes(client);
    expect(await entries()).toBe(0);
    expect(await watcher.revalidate()).toEqual([]);
    await revoke('a');
    expect(await watcher.revalidate()).toEqual(['token a']);
  });

  it('a log that was forgotten up to there tells nothing until it is tended, and then all', async () => {
    const { client, revoke } = await begin();
    const watcher = await startWatching(client);
    await client.query(
      `UPDATE leadtap.change_log_state SET pruned_below = '999999999', next_pruned_below = '999999999'`,
    );
    await revoke('a');
    expect(await watcher.revalidate()).toBeUndefined();
    await tendAfterMinutes(client);
    await watcher.revalidate();
    await revoke('b');
    expect(await watcher.revalidate()).toEqual(['token b']);
  });
});

it('whoever looks without READ COMMITTED is refused', async () => {
  const { client } = await begin();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await expect(new Watcher(client).revalidate()).rejects.toThrow(
    'polls need the isolation level READ COMMITTED',
  );
  await client.query('ROLLBACK');
});
