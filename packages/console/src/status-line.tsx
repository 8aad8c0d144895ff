import type { JSX } from 'preact';
import { type FeedState, feedState, leads } from './feed.ts';
import { hiddenCount } from './leads/history.ts';
import { isPaused, togglePause } from './leads/pause.ts';
import { Plot } from './leads/plot.tsx';
import { explain } from './problem.tsx';
import { lastLimits } from './service.ts';
import { Time } from './time.tsx';

interface StatusLineProps {
  readonly tab: string;
  readonly isCovered: boolean;
}

/** Whether leads arrive in this page. */
export function FeedNote(): JSX.Element {
  const state = feedState.value;
  const isStill = isPaused.value && state.kind === 'live';
  return (
    <>
      <span class={`pulse ${isStill ? 'paused' : state.kind}`} aria-hidden="true" />
      <span role="status">{isStill ? 'paused' : wordsOf(state)}</span>
    </>
  );
}

/** Of those limits that are close: what is left of the others says nothing. */
export const LimitsNote = (): JSX.Element => (
  <span class="limits">
    {(lastLimits.value?.limits ?? [])
      .filter(({ remaining, quota = 0 }) => remaining < quota * CLOSE)
      .map(({ name, remaining }, index) => `${remaining}${index === 0 ? ' left' : ''} this ${name}`)
      .join(', ')}
  </span>
);

const CLOSE = 0.2;

/** One line below the tabs: whether leads arrive, and when the last one did. The overview says it below its headline. */
export function StatusLine({ tab, isCovered }: StatusLineProps): JSX.Element {
  // A token that no longer works has no limits, and gets no leads.
  const isStopped = feedState.value.kind === 'stopped';
  const newest = isStopped ? undefined : leads.value[0];
  return (
    <section class="status-line" aria-label="Connection" inert={isCovered}>
      <p>
        <FeedNote />
        {isPaused.value && !isStopped && <span class="new-leads">{hiddenCount} new</span>}
        {newest && (
          <span class="last-lead">
            last lead <Time at={newest.createdAt} />
          </span>
        )}
        {!isStopped && <LimitsNote />}
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
