import { describe, expect, it } from 'vitest';
import { startService } from '../harness/service.ts';

describe('200: the page', () => {
  it('without since holds the newest leads, newest first', async () => {
    const { add, leads } = await startService();
    const stamps = await add({ id: 'a' }, { id: 'b' }, { id: 'c' });
    expect(await leads('boss', 'limit=2')).toMatchObject([{ id: 'c' }, { id: 'b' }]);
    expect(stamps).toEqual([...stamps].sort((a, b) => a - b));
  });

  it('with since holds the leads that directly follow it, oldest first', async () => {
    const { add, leads } = await startService();
    const [first = 0] = await add({ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' });
    const since = new Date(first).toISOString();
    expect(await leads('boss', `since=${since}&limit=2`)).toMatchObject([{ id: 'b' }, { id: 'c' }]);
  });

  it('is an empty array when nothing is newer', async () => {
    const { poll } = await startService();
    const response = await poll('boss', 'since=2999-01-01T00:00:00Z');
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('[]');
  });
});
