import { EventEmitter, once } from 'node:events';
import type { Lead } from '@leadtap/contract';
import { type ServiceOptions, startService, type TestService } from '../../../../testing/harness/service.ts';
import { type Schedule, scheduleTimeout } from '../../../src/poll/long-polls.ts';
import { ManualTimers } from './manual-timers.ts';

export interface WaitingService extends TestService {
  /** Polls with `Prefer: wait=50`, unless `init` has another one. */
  wait(userId: string, query?: string, init?: RequestInit): Promise<Response>;
  /** Resolves when so many requests wait. */
  untilWaiting(count: number): Promise<void>;
  /** The number of requests that wait now. */
  waiting(): number;
  /** Lets so much of the time of the waits pass: otherwise they last as long as the test. */
  passTime(ms: number): Promise<void>;
}

/** The shortest wait. What is shorter is the interval of revalidations. */
const MIN_WAIT_MS = 1000;

/** A service whose waiting requests the test can follow. */
export async function startWaitingService(options: ServiceOptions = {}): Promise<WaitingService> {
  const changes = new EventEmitter().setMaxListeners(0);
  let waiting = 0;
  const timers = new ManualTimers();
  const schedule: Schedule = (callback, delayMs) =>
    (delayMs < MIN_WAIT_MS ? scheduleTimeout : timers.schedule)(callback, delayMs);
  const service = await startService({
    schedule,
    ...options,
    prepare: (prepared) => {
      const { metrics } = prepared;
      const { observeWaiting } = metrics;
      metrics.observeWaiting = (count) => {
        observeWaiting?.(count);
        waiting = count;
        changes.emit('count');
      };
      options.prepare?.(prepared);
    },
  });
  return {
    ...service,
    wait: (userId, query = 'since=2026-01-01', init = {}) =>
      service.poll(userId, query, { ...init, headers: { prefer: 'wait=50', ...init.headers } }),
    untilWaiting: async (count) => {
      while (waiting !== count) await once(changes, 'count');
    },
    waiting: () => waiting,
    passTime: (ms) => timers.advance(ms),
  };
}

export const idsOf = async (response: Response): Promise<string[]> =>
  ((await response.json()) as Lead[]).map(({ id }) => id);

export const appliedOf = (response: Response): string | null => response.headers.get('preference-applied');
