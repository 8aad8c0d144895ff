import { type Lead, NEW_LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import type { LeadInput, Organisation } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';

const LEVELS = ['COMPANY', 'BRANCH', 'DEPARTMENT'] as const;
type Level = (typeof LEVELS)[number];

/** Each lead with the lowest access level that sees it. */
const PLACES: Record<Level, Partial<LeadInput>> = {
  COMPANY: {},
  BRANCH: { branchId: 'branch' },
  DEPARTMENT: { departmentId: 'department' },
};

/** A company of its own for each run, with a user of each level. */
const company = (id: string): Organisation => ({
  companies: [
    {
      id,
      name: id,
      branches: [
        { id: 'branch', name: 'Branch', departments: [{ id: 'department', name: 'Department' }] },
        { id: 'elsewhere', name: 'Elsewhere', departments: [] },
      ],
      users: LEVELS.map((accessLevel) => ({
        id: `${id} ${accessLevel}`,
        email: null,
        name: null,
        plan: 'PROFESSIONAL',
        accessLevel,
        branchId: accessLevel === 'COMPANY' ? null : 'branch',
        departmentId: accessLevel === 'DEPARTMENT' ? 'department' : null,
      })),
    },
  ],
});

interface Follower {
  readonly userId: string;
  readonly limit: number;
  since: string;
  readonly seen: string[];
}

/** Polls until a page is not full, and stores only the last `createdAt`, as the simplest client does. */
async function follow({ inject, token }: TestService, clock: ManualClock, follower: Follower) {
  for (;;) {
    // An hour later the rate limits are reset.
    clock.advance(3_600_000);
    const answer = await inject({
      url: `${NEW_LEADS_PATH}?since=${follower.since}&limit=${follower.limit}`,
      headers: { authorization: `Bearer ${await token(follower.userId)}` },
    });
    const page = answer.json<Lead[]>();
    follower.seen.push(...page.map(({ id }) => id));
    follower.since = page.at(-1)?.createdAt ?? follower.since;
    if (page.length < follower.limit) return;
  }
}

const sees = (level: Level, place: Level) => LEVELS.indexOf(place) >= LEVELS.indexOf(level);

describe('following since = the last createdAt', () => {
  it('returns each lead exactly once, with limits from 1 to 100, at every level', async () => {
    const clock = manualClock();
    const test = await startService({ clock, organisation: company('c') });
    const leads = Array.from({ length: 102 }, (_, i) => ({ id: `${i}`, place: LEVELS[i % 3] ?? 'COMPANY' }));
    await test.add(...leads.map(({ id, place }) => ({ id, companyId: 'c', ...PLACES[place] })));
    for (const level of LEVELS) {
      const expected = leads.filter(({ place }) => sees(level, place)).map(({ id }) => id);
      for (const limit of [1, 2, 3, 33, 34, 35, 50, 67, 68, 69, 99, 100]) {
        const follower = { userId: `c ${level}`, limit, since: '1970-01-01', seen: [] };
        await follow(test, clock, follower);
        expect(follower.seen).toEqual(expected);
      }
    }
  });

  const burst = fc.record({
    places: fc.array(fc.constantFrom(...LEVELS), { minLength: 0, maxLength: 40 }),
    waitMs: fc.constantFrom(0, 0, 1, 2, 1000),
    pollsAfter: fc.boolean(),
  });
  const shape = fc.record({
    bursts: fc.array(burst, { minLength: 1, maxLength: 6 }),
    limit: fc.integer({ min: 1, max: 100 }),
  });

  it('returns each lead exactly once, with bursts at any time between the polls', async () => {
    const clock = manualClock();
    const test = await startService({ clock });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(shape, async ({ bursts, limit }) => {
        runs += 1;
        const companyId = `c${runs}`;
        await test.store.applyOrganisation(company(companyId));
        const followers = LEVELS.map((level) => ({
          level,
          userId: `${companyId} ${level}`,
          limit,
          since: '1970-01-01',
          seen: [] as string[],
        }));
        const written: { id: string; place: Level }[] = [];
        for (const { places, waitMs, pollsAfter } of bursts) {
          clock.advance(waitMs);
          const leads = places.map((place, i) => ({ id: `${written.length + i}`, place }));
          await test.add(...leads.map(({ id, place }) => ({ id, companyId, ...PLACES[place] })));
          written.push(...leads);
          if (pollsAfter) for (const follower of followers) await follow(test, clock, follower);
        }
        for (const follower of followers) {
          await follow(test, clock, follower);
          const expected = written.filter(({ place }) => sees(follower.level, place)).map(({ id }) => id);
          expect(follower.seen).toEqual(expected);
        }
      }),
      { numRuns: 15 },
    );
  });
});
