import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Bearer, Scope } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { Recent } from '../../src/cache/lru.ts';
import { type CacheLimits, PollCache } from '../../src/cache/poll-cache.ts';
import { renderLeads } from '../../src/leads/render.ts';
import { madeUpLead } from './made-up-lead.ts';
import { pollOnce, StillStore } from './still-store.ts';

const CAPACITY = 20;

interface Step {
  readonly act: 'set' | 'get' | 'delete' | 'clear';
  readonly key: string;
  readonly weight: number;
}

const step = fc.record<Step>({
  act: fc.constantFrom('set', 'set', 'set', 'get', 'get', 'get', 'delete', 'clear'),
  key: fc.constantFrom(...'abcdefghij'),
  weight: fc.integer({ min: 0, max: 12 }),
});

describe('the entries that were used lately', () => {
  it('are what was put there last, and never weigh more than they may', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const recent = new Recent<{ readonly weight: number }>(CAPACITY, ({ weight }) => weight);
        const last = new Map<string, { readonly weight: number }>();
        for (const { act, key, weight } of steps) {
          const value = { weight };
          if (act === 'set') recent.set(key, value);
          else if (act === 'get') recent.get(key);
          else if (act === 'delete') recent.delete(key);
          else recent.clear();
          if (act === 'set') last.set(key, value);
          if (act === 'delete') last.delete(key);
          if (act === 'clear') last.clear();

          const kept = [...'abcdefghij'].flatMap((name) => {
            const found = recent.peek(name);
            assert(found === undefined || found === last.get(name), `${name} is what it was`);
            return found ?? [];
          });
          assert(kept.reduce((sum, entry) => sum + entry.weight, 0) <= CAPACITY, 'it is not too much');
          if (act === 'set' && weight <= CAPACITY / 2) assert.equal(recent.peek(key), value);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Some 1,700 bytes each. The company `huge` has more than all may. */
function leadsOf(scope: Scope) {
  const branchName = scope.level === 'BRANCH' ? scope.branchId : null;
  const rest = { companyName: scope.companyId, branchName, address: 'x'.repeat(1000) };
  return Array.from({ length: scope.companyId === 'huge' ? 100 : 3 }, (_, n) => madeUpLead(n + 1, rest));
}

const LIMITS: CacheLimits = { mostAccounts: 20, mostBytes: 200_000 };

/** Its first look is over. */
async function begin(limits = LIMITS) {
  const store = new StillStore(leadsOf);
  const memory = new PollCache(store, store, limits);
  await pollOnce(memory, { userId: 'first' });
  /** Gives the bytes of the page, which is right. */
  const poll = async (bearer: Bearer, limit = 100): Promise<number> => {
    const { scope, page } = await pollOnce(memory, bearer, limit);
    assert.equal(String(page.leads.body), String(renderLeads(leadsOf(scope).slice(0, limit)).body));
    return page.leads.body.length;
  };
  return { store, poll };
}

const users = (prefix: string, count: number): Bearer[] =>
  Array.from({ length: count }, (_, n) => ({ userId: `${prefix}${n}` }));
const tokens = (count: number): Bearer[] =>
  Array.from({ length: count }, (_, n) => ({ userId: 'acme', tokenId: `token-${n}` }));

/** Of the pages that are still known when all have polled, as far as none is missing. */
async function bytesKept(callers: readonly Bearer[], limits: readonly number[]): Promise<number> {
  const { store, poll } = await begin();
  const pollAll = async (bearer: Bearer) => {
    let bytes = 0;
    for (const limit of limits) bytes += await poll(bearer, limit);
    return bytes;
  };
  for (const caller of callers) await pollAll(caller);
  let kept = 0;
  for (const caller of callers.toReversed()) {
    const before = store.readings.length;
    const bytes = await pollAll(caller);
    if (store.readings.length > before) break;
    kept += bytes;
  }
  return kept;
}

describe('a memory that may hold little', () => {
  it.each([
    ['users', users('acme/branch-', 100)],
    ['tokens', tokens(100)],
  ])('answers right, and asks again about %s that it has forgotten', async (_what, callers) => {
    const { store, poll } = await begin();
    for (const caller of [...callers, ...callers]) await poll(caller);
    const asked = store.revalidations.flatMap(({ bearers }) => bearers);
    expect(asked.length).toBeGreaterThanOrEqual(200 - LIMITS.mostAccounts);
  });

  it('keeps a user who comes often, however many come once', async () => {
    const { store, poll } = await begin();
    const often = { userId: 'often' };
    for (const user of users('once-', 100)) {
      await poll(often);
      await poll(user);
    }
    const asked = store.revalidations
      .flatMap(({ bearers }) => bearers)
      .filter(({ userId }) => userId === 'often');
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['a page', [100]],
    ['several pages', [100, 3, 2, 1]],
  ])('keeps %s of each company, and of no more than it may', async (_what, limits) => {
    // How much is kept goes up and down with their number.
    for (let count = 40; count < 60; count += 1) {
      const kept = await bytesKept(users('company-', count), limits);
      expect(kept).toBeGreaterThan(0);
      expect(kept).toBeLessThanOrEqual(LIMITS.mostBytes);
    }
  });

  it.each([
    ['with too many leads', [{ userId: 'huge' }]],
    ['with too many branches', users('acme/branch-', 40)],
  ])('lets a company %s push nobody out', async (_what, callers) => {
    const { store, poll } = await begin({ ...LIMITS, mostAccounts: 1000 });
    const small = ['one', 'another', 'third'];
    for (const caller of [...callers, ...callers, ...callers]) {
      await poll(caller);
      for (const userId of small) await poll({ userId });
    }
    const read = store.readings.map(({ companyId }) => companyId);
    expect(read.filter((companyId) => small.includes(companyId))).toEqual(small);
  });
});
