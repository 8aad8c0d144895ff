import type { JSX } from 'preact';
import { type FeedState, feedState, leads } from './feed.ts';
import { hiddenCount } from './leads/history.ts';
import { isPaused, togglePause } from './leads/pause.ts';
import { Plot } from './leads/plot.tsx';
import { explain } from './problem.tsx';
import { type Limits, lastLimits } from './service.ts';
import { Time } from './time.tsx';

interface StatusLineProps {
  readonly tab: string;
  readonly isCovered: boolean;
}

/** One line below the tabs: whether leads arrive, and when the last one did. */
export function StatusLine({ tab, isCovered }: StatusLineProps): JSX.Element {
  const state = feedState.value;
  // A token that no longer works has no limits, and gets no leads.
  const isStopped = state.kind === 'stopped';
  const newest = isStopped ? undefined : leads.value[0];
  const isStill = isPaused.value && state.kind === 'live';
  return (
    <section class="status-line" aria-label="Connection" inert={isCovered}>
      <p>
        <span class={`pulse ${isStill ? 'paused' : state.kind}`} aria-hidden="true" />
        <span role="status">{isStill ? 'paused' : wordsOf(state)}</span>
        {isPaused.value && !isStopped && <span class="new-leads">{hiddenCount} new</span>}
        {/* The overview has it, too. */}
        {tab !== 'overview' && newest && (
          <span class="last-lead">
            last lead <Time at={newest.createdAt} />
          </span>
        )}
        <span class="limits">{!isStopped && lastLimits.value && limitsText(lastLimits.value)}</span>
      </p>
      {tab === 'leads' && !isStopped && <Plot />}
      {tab === 'leads' && newest && (
        <button type="button" class="small" onClick={togglePause}>
          {isPaused.value ? 'Resume' : 'Pause'}
        </button>
      )}
    </section>
  );
}

function wordsOf(state: FeedState): string {
  switch (state.kind) {
    case 'off':
    case 'stopped':
      return 'not connected';
    case 'loading':
      return 'connecting…';
    case 'live':
      return state.isHeld ? 'live' : 'checks every 15 s';
    case 'retrying':
      return explain(state.error).title;
  }
}

const CLOSE = 0.2;

/** Of those limits that are close: what is left of the others says nothing. */
const limitsText = ({ limits }: Limits): string =>
  limits
    .filter(({ remaining, quota = 0 }) => remaining < quota * CLOSE)
    .map(({ name, remaining }, index) => `${remaining}${index === 0 ? ' left' : ''} this ${name}`)
    .join(', ');
