import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { LeadRecord } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { Feed } from '../../src/cache/feed.ts';
import type { PollQuery } from '../../src/leads/poll.ts';
import { type RenderedLeads, renderLeads } from '../../src/leads/render.ts';
import { madeUpLead } from './made-up-lead.ts';

/** All leads that there are, oldest first. */
type List = LeadRecord[];

function pageOf(list: List, { since, limit }: PollQuery): RenderedLeads {
  if (since === undefined) return renderLeads(list.toReversed().slice(0, limit));
  return renderLeads(list.filter(({ createdAt }) => createdAt > since).slice(0, limit));
}

/** Whether the whole page lies behind the floor. */
function mustKnow({ floor }: Feed, list: List, { since, limit }: PollQuery): boolean {
  if (since !== undefined) return since >= floor;
  return (
    floor === Number.NEGATIVE_INFINITY || list.filter(({ createdAt }) => createdAt > floor).length >= limit
  );
}

/** Such a page stays what it is, whatever is added. */
const isInTheMidst = ({ since, limit }: PollQuery, { count }: RenderedLeads) =>
  since !== undefined && count === limit;

/** Buffers are slow to compare. */
const readable = (page: RenderedLeads | undefined) => page && { ...page, body: page.body.toString() };

interface World {
  readonly list: List;
  readonly feed: Feed;
}

/** The feed learns of the new leads, of some that it knows, and of none before its floor. */
function append({ list, feed }: World, names: readonly string[], again: number): void {
  const newest = list.at(-1)?.createdAt ?? 0;
  const added = names.map((firstName, index) => madeUpLead(newest + 1 + index * 2, { firstName }));
  const known = list.filter(({ createdAt }) => createdAt > feed.floor).slice(-again);
  list.push(...added);
  feed.grow();
  if (feed.isStale) feed.append([...known, ...added]);
}

/** What it does not know it is told, as whoever reads a page for itself does. */
function query({ list, feed }: World, asked: PollQuery): void {
  const expected = pageOf(list, asked);
  const page = feed.page(asked);
  if (page || mustKnow(feed, list, asked)) assert.deepEqual(readable(page), readable(expected));
  else if (feed.floor !== Number.POSITIVE_INFINITY || isInTheMidst(asked, expected))
    feed.keep(asked, expected);
}

const newestOf = ({ list, feed }: World): number =>
  Math.max(list.at(-1)?.createdAt ?? feed.floor, feed.floor);

type Step = (world: World) => void;

/** With characters of one to four bytes. */
const names = fc.array(fc.constantFrom('Ada', 'Éva', '漢字', '🦊', '"[,]"'), { minLength: 0, maxLength: 4 });
const manyNames = fc
  .integer({ min: 90, max: 230 })
  .map((count) => Array.from({ length: count }, (_, n) => `${n}`));
const appends = fc
  .tuple(fc.oneof({ weight: 5, arbitrary: names }, { weight: 1, arbitrary: manyNames }), fc.nat({ max: 3 }))
  .map(
    ([added, again]): Step =>
      (world) =>
        append(world, added, again),
  );

/** Nearly always near a lead: at it, or a millisecond beside it. */
const since = fc.oneof(
  fc.constant<(list: List) => number | undefined>(() => undefined),
  fc.tuple(fc.nat({ max: 500 }), fc.integer({ min: -1, max: 1 })).map(
    ([index, offset]) =>
      (list: List) =>
        (list.at(-index % Math.max(1, list.length))?.createdAt ?? 5) + offset,
  ),
);
const queries = fc
  .tuple(since, fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 90, max: 110 })))
  .map(
    ([at, limit]): Step =>
      (world) => {
        const from = at(world.list);
        query(world, from === undefined ? { limit } : { since: from, limit });
      },
  );
const steps = fc.array(fc.oneof(appends, queries, queries), { maxLength: 60, size: 'max' });

describe.each([
  ['that has all leads', Number.NEGATIVE_INFINITY],
  ['of what followed a time', 10],
  ['of pages alone', Number.POSITIVE_INFINITY],
])('a feed %s', (_what, floor) => {
  it('gives the pages of the list that it was made of', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const world: World = { list: [], feed: new Feed(floor) };
        // Those before the floor are not the feed's.
        append(world, Number.isFinite(floor) ? ['a', 'b', 'c', 'd', 'e'] : [], 0);
        for (const step of sequence) {
          step(world);
          assert.equal(world.feed.newest, newestOf(world));
        }
      }),
      { numRuns: 60 },
    );
  });
});

it('a feed forgets its oldest leads when it has more than a page', () => {
  const world: World = { list: [], feed: new Feed(Number.NEGATIVE_INFINITY) };
  append(world, Array.from({ length: 100 }, String), 0);
  expect(world.feed.floor).toBe(Number.NEGATIVE_INFINITY);
  const { weight } = world.feed;
  append(world, ['100', '101'], 0);
  expect(world.feed.floor).toBe(world.list.at(-101)?.createdAt);
  expect(world.feed.weight).toBeLessThan(weight * 1.02);
});
