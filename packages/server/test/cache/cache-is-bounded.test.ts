import assert from 'node:assert/strict';
import type { LeadScope, VerifiedToken } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { renderLeads } from '../../src/leads/render.ts';
import { sampleLead } from './support/sample-lead.ts';
import { createPoll, StubStore } from './support/stub-store.ts';

/** Some 1,700 bytes each. The company `huge` has more than the whole cache may hold. */
function leadsOf(scope: LeadScope) {
  const branchName = scope.level === 'BRANCH' ? scope.branchId : null;
  const rest = { companyName: scope.companyId, branchName, address: 'x'.repeat(1000) };
  return Array.from({ length: scope.companyId === 'huge' ? 100 : 3 }, (_, n) => sampleLead(n + 1, rest));
}

/** The accounts are at most 25 users, and at most 62 token ids. */
const LIMITS = { maxAccountBytes: 5_000, maxFeedBytes: 200_000 };

/** After the first revalidation, which invalidates everything. */
async function begin(limits = LIMITS) {
  const store = new StubStore(leadsOf);
  const pollOnce = createPoll(store, limits.maxAccountBytes, limits.maxFeedBytes);
  await pollOnce({ userId: 'first' });
  /** Checks the page and returns its size. */
  const poll = async (bearer: VerifiedToken, limit = 100): Promise<number> => {
    const { scope, page } = await pollOnce(bearer, limit);
    assert.equal(String(page.leads.body), String(renderLeads(leadsOf(scope).slice(0, limit)).body));
    return page.leads.body.length;
  };
  return { store, poll };
}

const users = (prefix: string, count: number): VerifiedToken[] =>
  Array.from({ length: count }, (_, n) => ({ userId: `${prefix}${n}` }));
const tokens = (count: number): VerifiedToken[] =>
  Array.from({ length: count }, (_, n) => ({ userId: 'acme', tokenId: `token-${n}` }));

/** The bytes of the pages that are still cached after all polls, the latest first, up to the first that is not. */
async function countCachedBytes(
  callers: readonly VerifiedToken[],
  limits: readonly number[],
): Promise<number> {
  const { store, poll } = await begin();
  const pollAll = async (bearer: VerifiedToken) => {
    let bytes = 0;
    for (const limit of limits) bytes += await poll(bearer, limit);
    return bytes;
  };
  for (const caller of callers) await pollAll(caller);
  let kept = 0;
  for (const caller of callers.toReversed()) {
    const before = store.reads.length;
    const bytes = await pollAll(caller);
    if (store.reads.length > before) break;
    kept += bytes;
  }
  return kept;
}

describe('a small cache', () => {
  it.each([
    ['users', users('acme/branch-', 100)],
    ['tokens', tokens(100)],
  ])('answers right, and asks the store again about %s that were evicted', async (_what, callers) => {
    const { store, poll } = await begin();
    for (const caller of [...callers, ...callers]) await poll(caller);
    const asked = store.revalidations.flatMap(({ tokens }) => tokens);
    expect(asked.length).toBeGreaterThanOrEqual(200 - 62);
  });

  it('is bounded by the bytes of ids that an identity provider chose', async () => {
    const { store, poll } = await begin({ ...LIMITS, maxAccountBytes: 100_000 });
    const long = Array.from({ length: 50 }, (_, n) => ({ userId: 'acme', tokenId: `${n}`.repeat(3000) }));
    for (const bearer of [...long, ...long]) await poll(bearer);
    const asked = store.revalidations.flatMap(({ tokens }) => tokens);
    expect(asked.length).toBeGreaterThanOrEqual(80);
  });

  it('keeps a user who polls often, however many poll once', async () => {
    const { store, poll } = await begin();
    const often = { userId: 'often' };
    for (const user of users('once-', 100)) {
      await poll(often);
      await poll(user);
    }
    const asked = store.revalidations
      .flatMap(({ tokens }) => tokens)
      .filter(({ userId }) => userId === 'often');
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['a page', [100]],
    ['several pages', [100, 3, 2, 1]],
  ])('keeps %s of as many companies as fit', async (_what, limits) => {
    // The cached bytes vary with the number of companies.
    for (let count = 40; count < 60; count += 1) {
      const kept = await countCachedBytes(users('company-', count), limits);
      expect(kept).toBeGreaterThan(0);
      expect(kept).toBeLessThanOrEqual(LIMITS.maxFeedBytes);
    }
  });

  it.each([
    ['with too many leads', [{ userId: 'huge' }]],
    ['with too many branches', users('acme/branch-', 40)],
  ])('does not evict others for a company %s', async (_what, callers) => {
    const { store, poll } = await begin({ ...LIMITS, maxAccountBytes: 1_000_000 });
    const small = ['one', 'another', 'third'];
    for (const caller of [...callers, ...callers, ...callers]) {
      await poll(caller);
      for (const userId of small) await poll({ userId });
    }
    const read = store.reads.map(({ companyId }) => companyId);
    expect(read.filter((companyId) => small.includes(companyId))).toEqual(small);
  });
});
