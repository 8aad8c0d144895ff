/** What the page says while it loads older leads. */
import type { JSX } from 'preact';
import { now } from '../clock.ts';
import { MAX_LEADS } from '../feed.ts';
import { explain } from '../problem.tsx';
import { formatCount } from '../text.tsx';
import { formatShort, formatWait } from '../time.tsx';
import { timeOf } from './find.ts';
import { loadedLeads, loading, resumeNow, retryLoading, stopLoading, view } from './history.ts';

/** The way to leads that are older than those that are kept. */
export const FULL_TEXT = `The page keeps at most ${formatCount(MAX_LEADS)}. For older ones, choose a day above the list.`;

/** `, back to 9 Nov, 09:12`: the oldest lead in the list. */
export function backTo(): string {
  const oldest = loadedLeads.value.at(-1);
  return oldest ? `, back to ${formatShort(timeOf(oldest))}` : '';
}

/** `Searched back to 12 March`: how far the service was searched for the text. */
export function searchedText(): string {
  const { text = '', from = 0, day } = view.value ?? {};
  if (text === '') return '';
  if (from === 0) return 'Searched all leads.';
  const isBegun = from < (day?.end ?? now.value);
  return isBegun ? `Searched back to ${formatShort(from)}.` : '';
}

interface LoadOlderProps {
  /** The button while nothing is loaded. */
  readonly label: string;
  readonly onStart: () => void;
}

/** The state in words, and always the same button, so that it keeps the focus. */
export function LoadOlder({ label, onStart }: LoadOlderProps): JSX.Element {
  const state = loading.value;
  const isSearch = state.kind !== 'idle' && state.purpose === 'search';
  const [text, onClick] = {
    idle: [label, onStart] as const,
    loading: isSearch
      ? (['Stop', stopLoading] as const)
      : (['Loading older leads…', () => undefined] as const),
    paused: ['Stop', stopLoading] as const,
    failed: ['Try again', retryLoading] as const,
  }[state.kind];
  return (
    <p class="load-older">
      {state.kind === 'loading' && isSearch && <span>Searching older leads…</span>}
      {state.kind === 'paused' && <Paused resumeAt={state.resumeAt} />}
      {state.kind === 'failed' && (
        <span role="alert">{explain(state.error).title}. What was loaded is kept.</span>
      )}
      <button type="button" onClick={onClick}>
        {text}
      </button>
    </p>
  );
}

function Paused({ resumeAt }: { readonly resumeAt: number }): JSX.Element {
  // The signal updates the text once a second.
  const leftMs = now.value && resumeAt - Date.now();
  return (
    <>
      <span>
        Paused for {formatWait(Math.max(1000, leftMs))}: the rest of the limit is left to your automations.
      </span>
      <button type="button" onClick={resumeNow}>
        Continue now
      </button>
    </>
  );
}
