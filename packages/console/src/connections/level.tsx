import type { ConnectionLevel } from '@leadtap/contract';
import type { JSX } from 'preact';

const SIGNS: Readonly<Record<ConnectionLevel, readonly [sign: string, word: string]>> = {
  error: ['✗', 'Problem'],
  warning: ['!', 'Warning'],
  unknown: ['·', 'Not known'],
  good: ['✓', 'Good'],
};

export function Sign({ level }: { readonly level: ConnectionLevel }): JSX.Element {
  const [sign, word] = SIGNS[level];
  return (
    <>
      <span class={`sign ${level}`} aria-hidden="true">
        {sign}
      </span>
      <span class="vh">{word}: </span>
    </>
  );
}

export interface SentenceProps {
  /** None: there is nothing to judge yet. */
  readonly level?: ConnectionLevel | undefined;
  /** Empty: the service has not answered. */
  readonly text: string;
}

/** The sentence for all connections. What is to do, and what is gone, is below it. */
export function Sentence({ level, text }: SentenceProps): JSX.Element {
  const [answer, ...rest] = text.split(/ (?=(?:To do|Gone): )/);
  return (
    <div class="sentence" role="status">
      <h1 class={level}>
        {level && text !== '' && <Sign level={level} />}
        {text === '' ? <span class="after-200ms">Asking the service…</span> : <span>{answer}</span>}
      </h1>
      {rest.length > 0 && <p>{rest.join(' ')}</p>}
    </div>
  );
}
