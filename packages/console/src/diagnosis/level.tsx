import type { Consumer } from '@leadtap/contract';
import type { JSX } from 'preact';

export type Level = Consumer['level'];

const SIGNS: Readonly<Record<Level, readonly [sign: string, word: string]>> = {
  error: ['✗', 'Problem'],
  warning: ['!', 'Warning'],
  unknown: ['?', 'Not known'],
  good: ['✓', 'Good'],
  inactive: ['–', 'Inactive'],
};

/** The worst first. */
export const LEVELS = Object.keys(SIGNS) as Level[];

export function Sign({ level }: { readonly level: Level }): JSX.Element {
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
