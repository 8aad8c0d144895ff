import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { LeadRecord } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { type RenderedLeads, renderLeads } from '../../src/leads/render.ts';
import { Feed, type FeedQuery } from '../../src/poll/cache/feed.ts';
import { sampleLead } from './support/sample-lead.ts';

/** All leads, oldest first. */
type List = LeadRecord[];

function pageOf(list: List, { since, limit }: FeedQuery): RenderedLeads {
  if (since === undefined) return renderLeads(list.toReversed().slice(0, limit));
  return renderLeads(list.filter(({ createdAt }) => createdAt > since).slice(0, limit));
}

/** Whether all leads of the page are cached. */
function isCached({ cachedAfter }: Feed, list: List, { since, limit }: FeedQuery): boolean {
  if (since !== undefined) return since >= cachedAfter;
  const cached = list.filter(({ createdAt }) => createdAt > cachedAfter);
  return cachedAfter === Number.NEGATIVE_INFINITY || cached.length >= limit;
}

/** Leads that are added later do not change such a page. */
const isFullPageAfter = ({ since, limit }: FeedQuery, { count }: RenderedLeads) =>
  since !== undefined && count === limit;

/** Buffers are slow to compare. */
/** The times are in any order. */
const readable = (page: RenderedLeads | undefined) =>
  page && { ...page, body: page.body.toString(), createdAt: page.createdAt.toSorted((a, b) => a - b) };

interface World {
  readonly list: List;
  readonly feed: Feed;
}

/** Appends new leads, and again some that are cached, but none that the feed does not cover. */
function append({ list, feed }: World, names: readonly string[], again: number): void {
  const newest = list.at(-1)?.createdAt ?? 0;
  const added = names.map((firstName, index) => sampleLead(newest + 1 + index * 2, { firstName }));
  const known = list.filter(({ createdAt }) => createdAt > feed.cachedAfter).slice(-again);
  list.push(...added);
  feed.markStale();
  if (feed.isStale) feed.append([...known, ...added]);
}

/** A page that is not cached is added, as after a read of the store. */
function query({ list, feed }: World, asked: FeedQuery): void {
  const expected = pageOf(list, asked);
  const page = feed.getPage(asked);
  if (page || isCached(feed, list, asked)) assert.deepEqual(readable(page), readable(expected));
  else if (feed.cachedAfter !== Number.POSITIVE_INFINITY || isFullPageAfter(asked, expected))
    feed.cachePage(asked, expected);
}

const newestOf = ({ list, feed }: World): number =>
  Math.max(list.at(-1)?.createdAt ?? feed.cachedAfter, feed.cachedAfter);

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
  ['with all leads', Number.NEGATIVE_INFINITY],
  ['of the leads after a time', 10],
  ['with pages only', Number.POSITIVE_INFINITY],
])('a feed %s', (_what, cachedAfter) => {
  it('returns the same pages as the list of its leads', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const world: World = { list: [], feed: new Feed(cachedAfter) };
        // The feed covers none of these.
        append(world, Number.isFinite(cachedAfter) ? ['a', 'b', 'c', 'd', 'e'] : [], 0);
        for (const step of sequence) {
          step(world);
          assert.equal(world.feed.newest, newestOf(world));
        }
      }),
      { numRuns: 30 },
    );
  });
});

it('a feed evicts its oldest leads when it has more than a page', () => {
  const world: World = { list: [], feed: new Feed(Number.NEGATIVE_INFINITY) };
  append(world, Array.from({ length: 100 }, String), 0);
  expect(world.feed.cachedAfter).toBe(Number.NEGATIVE_INFINITY);
  const { bytes } = world.feed;
  append(world, ['100', '101'], 0);
  expect(world.feed.cachedAfter).toBe(world.list.at(-101)?.createdAt);
  expect(world.feed.bytes).toBeLessThan(bytes * 1.02);
});
