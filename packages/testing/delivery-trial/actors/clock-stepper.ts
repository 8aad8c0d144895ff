import type { Actor } from '../actor.ts';

export const CLOCK_STEP_MS = 3_600_000;

/** Steps the clock back by an hour, and forward again. */
export const clockStepper = (setOffset: (offsetMs: number) => Promise<void>): Actor => ({
  name: 'clock steps',
  run: async ({ recorder, goesOn, pause }) => {
    const offsets = [-CLOCK_STEP_MS, 0, CLOCK_STEP_MS, 0];
    let before = 0;
    for (let done = 0; goesOn(done); done += 1) {
      await pause(1500);
      const offset = offsets[done % offsets.length] ?? 0;
      recorder.clockStepped(offset - before);
      await setOffset(offset);
      before = offset;
      recorder.count('clock steps');
      recorder.announce();
    }
  },
});
