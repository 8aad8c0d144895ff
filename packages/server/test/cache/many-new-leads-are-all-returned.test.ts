import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { untilChangesAreTracked } from './support/change-tracking.ts';

const ids = (from: number, until: number) =>
  Array.from({ length: until - from }, (_, index) => String(from + index));

// A cached page is extended by up to 99 leads; with more, it is read again.
it.each([98, 99, 100, 101, 150])('%i leads that were added after a page was cached', async (count) => {
  const { store, add, leads } = await startService();
  await untilChangesAreTracked(store);
  const newest = async () => (await leads('boss')).map(({ id }) => id);
  await add({ id: '0' });
  expect(await newest()).toEqual(['0']);
  expect(await newest()).toEqual(['0']);
  await add(...ids(1, count + 1).map((id) => ({ id })));
  expect(await newest()).toEqual(
    ids(0, count + 1)
      .reverse()
      .slice(0, 100),
  );
  const all: string[] = [];
  for (let since = '2026-01-01', page = await leads('boss', `since=${since}`); page.length > 0; ) {
    all.push(...page.map(({ id }) => id));
    since = page.at(-1)?.createdAt ?? '';
    page = await leads('boss', `since=${since}`);
  }
  expect(all).toEqual(ids(0, count + 1));
});
