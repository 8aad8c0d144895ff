import { beforeAll, describe, expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `lead-${i + 1}` }));

describe('200: the page, at most', () => {
  const shared = shareService();
  beforeAll(async () => void (await shared().add(...many(103))));

  it.each([
    ['100 leads without limit', '', 100],
    ['1 with limit=1', 'limit=1', 1],
    ['100 with limit=100', 'limit=100', 100],
    ['100 with limit=101', 'limit=101', 100],
    ['100 with a limit of 400 digits', `limit=${'9'.repeat(400)}`, 100],
    ['7 with a limit written 007', 'limit=007', 7],
    ['50 with limit=50 and since', 'limit=50&since=1970-01-01', 50],
    ['100 with since alone', 'since=1970-01-01', 100],
  ])('%s', async (_what, query, expected) => {
    expect(await shared().leads('boss', query)).toHaveLength(expected);
  });
});

describe('200: the page', () => {
  it('without since has the newest leads, newest first', async () => {
    const { add, leads } = await startService();
    await add({ id: 'a' }, { id: 'b' }, { id: 'c' });
    expect(await leads('boss', 'limit=2')).toMatchObject([{ id: 'c' }, { id: 'b' }]);
  });

  it('with since has the leads that directly follow it, oldest first', async () => {
    const { add, leads } = await startService();
    const [first = 0] = await add({ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' });
    const since = new Date(first).toISOString();
    expect(await leads('boss', `since=${since}&limit=2`)).toMatchObject([{ id: 'b' }, { id: 'c' }]);
  });

  it('has only leads created strictly after since, to the millisecond', async () => {
    const { add, leads } = await startService();
    const [first = 0] = await add({ id: 'a' });
    const justBefore = new Date(first - 1).toISOString();
    const exactly = new Date(first).toISOString();
    expect(await leads('boss', `since=${justBefore}`)).toMatchObject([{ id: 'a' }]);
    expect(await leads('boss', `since=${exactly}`)).toEqual([]);
  });

  it('is an empty array if no lead is newer', async () => {
    const { add, poll } = await startService();
    await add({ id: 'a' });
    const response = await poll('boss', 'since=2999-01-01T00:00:00Z');
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('[]');
  });

  it('is an empty array for a company without leads', async () => {
    const { poll } = await startService();
    expect(await (await poll('boss')).text()).toBe('[]');
  });
});
