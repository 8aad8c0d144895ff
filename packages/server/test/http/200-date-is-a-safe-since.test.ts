// @both-stores for each change
import type { Lead } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { injectPoll, makeEndpoint } from '../../../testing/harness/endpoint.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('Date', () => {
  it('is the time at which the page was read, truncated to the second', async () => {
    const { poll } = await startService({ clock: manualClock('2026-03-02T09:30:00.999Z') });
    expect((await poll('boss')).headers.get('date')).toBe('Mon, 02 Mar 2026 09:30:00 GMT');
  });

  it('is not the time of the response, which may be later', async () => {
    const clock = manualClock('2026-03-02T09:30:00.000Z');
    const app = makeEndpoint(
      {
        readPage: async () => {
          const readAt = clock();
          clock.advance(5000);
          return { leads: [], readAt, locked: true };
        },
      },
      { clock },
    );
    expect((await injectPoll(app)).headers['date']).toBe('Mon, 02 Mar 2026 09:30:00 GMT');
  });

  it('is on 304 and HEAD too', async () => {
    const { poll } = await startService({ clock: manualClock('2026-03-02T09:30:00.000Z') });
    for (const init of [{ headers: { 'if-none-match': '*' } }, { method: 'HEAD' }])
      expect((await poll('boss', '', init)).headers.get('date')).toBe('Mon, 02 Mar 2026 09:30:00 GMT');
  });

  it('as the next since loses nothing, whatever the milliseconds', async () => {
    const clock = manualClock('2026-03-02T09:30:00.000Z');
    const { add, poll } = await startService({ clock });
    const seen = new Set<string>();
    let since = 'since=1970-01-01';
    for (let i = 0; i < 50; i += 1) {
      await add({ id: `before-${i}` });
      const response = await poll('boss', since);
      for (const { id } of (await response.json()) as Lead[]) seen.add(id);
      since = `since=${new Date(response.headers.get('date') ?? '').toISOString()}`;
      await add({ id: `after-${i}` });
      clock.advance(i * 37);
    }
    for (const { id } of (await (await poll('boss', since)).json()) as Lead[]) seen.add(id);
    expect(seen.size).toBe(100);
  });
});
