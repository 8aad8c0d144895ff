import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Scope } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { renderLeads } from '../../src/leads/render.ts';
import { type MemoryLimits, PollMemory } from '../../src/memory/poll-memory.ts';
import { Recent } from '../../src/memory/recent.ts';
import { madeUpLead } from './made-up-lead.ts';
import { pollAs, StillStore } from './still-store.ts';

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

/** Some 1,100 bytes each. The company `huge` has more than all may. */
function leadsOf(scope: Scope) {
  const branchName = scope.level === 'BRANCH' ? scope.branchId : null;
  const rest = { companyName: scope.companyId, branchName, address: 'x'.repeat(500) };
  return Array.from({ length: scope.companyId === 'huge' ? 100 : 1 }, (_, n) => madeUpLead(n + 1, rest));
}

const LIMITS: MemoryLimits = { mostAccounts: 20, mostBytes: 50_000 };

/** Its first look is over. */
async function begin(limits = LIMITS) {
  const store = new StillStore(leadsOf);
  const memory = new PollMemory(store, store, limits);
  await pollAs(memory, 'first');
  /** Gives the bytes of the page, which is right. */
  const poll = async (userId: string): Promise<number> => {
    const { scope, page } = await pollAs(memory, userId);
    assert.equal(String(page.leads.body), String(renderLeads(leadsOf(scope)).body));
    return page.leads.body.length;
  };
  return { store, poll };
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

describe('a memory that may hold little', () => {
  it('answers right, and asks again about users that it has forgotten', async () => {
    const { store, poll } = await begin();
    const users = names('acme/branch-', 100);
    for (const user of [...users, ...users]) await poll(user);
    const asked = store.looks.flatMap(({ bearers }) => bearers);
    expect(asked.length).toBeGreaterThanOrEqual(200 - LIMITS.mostAccounts);
  });

  it('keeps a user who comes often, however many come once', async () => {
    const { store, poll } = await begin();
    await poll('often');
    for (const user of names('once-', 100)) {
      await poll(user);
      await poll('often');
    }
    const asked = store.looks.flatMap(({ bearers }) => bearers).filter(({ userId }) => userId === 'often');
    expect(asked).toHaveLength(1);
  });

  it('keeps pages of no more bytes than it may', async () => {
    const { store, poll } = await begin();
    const companies = names('company-', 100);
    let bytes = 0;
    for (const company of companies) await poll(company);
    // The latest are known, up to the first that is not.
    for (const company of companies.toReversed()) {
      const before = store.readings.length;
      const length = await poll(company);
      if (store.readings.length > before) break;
      bytes += length;
    }
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(LIMITS.mostBytes);
  });

  it.each([
    ['with too many leads', ['huge']],
    ['with too many branches', names('acme/branch-', 40)],
  ])('lets a company %s push nobody out', async (_what, users) => {
    const { store, poll } = await begin({ ...LIMITS, mostAccounts: 1000 });
    await poll('small');
    for (const user of [...users, ...users, ...users]) await poll(user);
    const before = store.readings.length;
    await poll('small');
    expect(store.readings.slice(before)).toEqual([]);
  });
});
