import { effect, signal } from '@preact/signals';
import { feedState } from '../feed.ts';

/** Whether the visitor has asked that new leads wait above the list. The feed goes on: only the list stands still. Afterwards, a list at its top shows them. */
export const isPaused = signal(false);

export function togglePause(): void {
  isPaused.value = !isPaused.value;
}

// With another token the list starts anew.
effect(() => {
  if (feedState.value.kind === 'off') isPaused.value = false;
});
