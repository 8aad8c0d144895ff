import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import type { ServedPoll } from '../../src/http/lane/express-lane.ts';
import { makeLogger } from '../../src/ops/logging.ts';
import { logPoll } from '../../src/ops/poll-log.ts';

afterEach(() => void vi.useRealTimers());

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

interface Poll {
  readonly tokenId: string | undefined;
  readonly isTraced: boolean;
  readonly durationMs: number;
}

const poll: fc.Arbitrary<Poll> = fc.record({
  tokenId: fc.option(fc.oneof(fc.uuid(), fc.string({ unit: 'binary' })), { nil: undefined }),
  isTraced: fc.boolean(),
  durationMs: fc.double({ min: 0, max: 100_000, noNaN: true }),
});

function served({ tokenId, isTraced, durationMs }: Poll, path: string): ServedPoll {
  return {
    id: 'mine-1',
    path,
    traceparent: isTraced ? `00-${TRACE_ID}-00f067aa0ba902b7-01` : undefined,
    state: { headers: [], tokenId },
    status: 200,
    durationMs,
    brokeOff: false,
  };
}

it('the line of a poll is what Pino would write, whatever a token or the path of the service is called', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 2, 2, 9, 30) });
  const lines: string[] = [];
  const logger = makeLogger('info', { write: (line) => void lines.push(line) });
  const path = fc.constantFrom('/automation/new-leads', '/"a\\b"/é/automation/new-leads');
  fc.assert(
    fc.property(poll, path, (some, at) => {
      lines.length = 0;
      logPoll(logger, served(some, at));
      const { tokenId, isTraced, durationMs } = some;
      logger.info(
        {
          requestId: 'mine-1',
          method: 'GET',
          path: at,
          status: 200,
          durationMs: Math.round(durationMs * 1000) / 1000,
          leads: 0,
          tokenId,
          traceId: isTraced ? TRACE_ID : undefined,
        },
        'request',
      );
      const [ours, pinos] = lines;
      expect(JSON.parse(ours ?? '')).toEqual(JSON.parse(pinos ?? ''));
      expect(Object.keys(JSON.parse(ours ?? ''))).toEqual(Object.keys(JSON.parse(pinos ?? '')));
      expect(ours?.match(/\n/g)).toHaveLength(1);
      expect(ours?.endsWith('}\n')).toBe(true);
    }),
  );
});

it('there is none for those who do not want to see it', () => {
  const lines: string[] = [];
  const logger = makeLogger('warn', { write: (line) => void lines.push(line) });
  logPoll(logger, served({ tokenId: 'a', isTraced: false, durationMs: 1 }, '/automation/new-leads'));
  expect(lines).toEqual([]);
});
