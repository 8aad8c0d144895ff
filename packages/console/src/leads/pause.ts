import { effect, signal } from '@preact/signals';
import { feedState } from '../feed.ts';

/** Whether the visitor has paused the list. The feed continues; after the pause, a list at its top shows the new leads. */
export const isPaused = signal(false);

export function togglePause(): void {
  isPaused.value = !isPaused.value;
}

// With another token the list starts anew.
effect(() => {
  if (feedState.value.kind === 'off') isPaused.value = false;
});
