import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { attempt } from '../../src/attempts/merge-attempts.ts';
import { MAX_ATTEMPTS, MAX_ATTEMPTS_OF_COMPANY } from '../../src/attempts/store.ts';

const NOW = Date.UTC(2026, 2, 2);
const userId = 'boss';

/** Refusals at these times, none of which equals the one before. */
const refusals = (times: readonly number[]) =>
  times.map((at, n) => attempt('refused', at, { status: 400 + (n % 2), reason: 'no Ada' }));

const range = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n);

async function open() {
  const { store } = await startService({});
  const record = (subject: string, times: readonly number[]) =>
    store.attempts.record([{ subject, userId, attempts: refusals(times) }]);
  const list = async (subject: string) =>
    (await store.attempts.list({ subject, companyId: 'acme', limit: 1000 })).attempts;
  return { store, record, list };
}

it('a subject has its newest rows, whatever order they are written in', async () => {
  const { record, list } = await open();
  await record('a', range(NOW, MAX_ATTEMPTS + 30));
  await record('a', range(NOW + 1000, 10));
  await record('a', range(NOW + 500, 10));
  const times = (await list('a')).map(({ at }) => at);
  const newest = [...range(NOW + 1000, 10), ...range(NOW + 500, 10), ...range(NOW + 50, MAX_ATTEMPTS - 20)];
  expect(times).toEqual(newest.sort((a, b) => b - a));
});

it('pruning deletes old rows, and the oldest of a company with too many', async () => {
  const { store, record, list } = await open();
  await record('old', range(NOW - 10, 20));
  await store.attempts.prune(NOW);
  expect((await list('old')).map(({ at }) => at)).toEqual(range(NOW, 10).reverse());
  const full = MAX_ATTEMPTS_OF_COMPANY / MAX_ATTEMPTS;
  for (let n = 0; n < full; n += 1) await record(`subject-${n}`, range(NOW + 1000, MAX_ATTEMPTS));
  await store.attempts.prune(NOW);
  expect(await list('old')).toEqual([]);
  expect(await list('subject-0')).toHaveLength(MAX_ATTEMPTS);
});

it('leads prune deletes older answers of receivers, and not the rows', async () => {
  const { store, record, list } = await open();
  await record('a', [NOW, NOW + 1000]);
  await store.removal.prune('globex', NOW + 2000, 10);
  expect(await list('a')).toMatchObject([{ reason: 'no Ada' }, { reason: 'no Ada' }]);
  await store.removal.prune('acme', NOW + 500, 10);
  expect(await list('a')).toMatchObject([{ reason: 'no Ada' }, { reason: null }]);
});
