import type { JSX } from 'preact';
import { clock, now } from './clock.ts';
import { type FeedState, retryNow } from './feed.ts';
import { Problem } from './problem.tsx';
import { formatWait, Time } from './time.tsx';

export type Retrying = Extract<FeedState, { kind: 'retrying' }>;

/** The service has set the time after which a request passes, so an earlier one would be for nothing. */
const isLimited = ({ error }: Retrying): boolean => error.status === 429;

/** Whether nothing was received at all. */
export const isOffline = ({ error }: Retrying): boolean => error.status === undefined;

/** A failure that passes: what it is, and when the page tries again by itself. */
export function RetryNotice({ state }: { readonly state: Retrying }): JSX.Element {
  // `now` changes once a second, so it can be a second behind.
  const leftMs = state.retryAt - Math.max(now.value, clock());
  return (
    <div class="passing">
      <Problem error={state.error} />
      <p class="retry">
        {isOffline(state) && (
          <span>
            Offline since <Time at={state.failingSince} form="clock" />.
          </span>
        )}
        <span>{leftMs <= 0 ? 'Trying again…' : `Continues by itself in ${formatWait(leftMs)}.`}</span>
        {!isLimited(state) && (
          <button type="button" onClick={retryNow}>
            Try now
          </button>
        )}
      </p>
    </div>
  );
}
