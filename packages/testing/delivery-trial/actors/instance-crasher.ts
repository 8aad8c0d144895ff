import type { Actor } from '../actor.ts';

/** Kills one of the instances again and again. `crash` is done when the instance serves again. */
export const instanceCrasher = (instances: number, crash: (index: number) => Promise<void>): Actor => ({
  name: 'instance crashes',
  run: async ({ recorder, random, goesOn, pause }) => {
    for (let done = 0; goesOn(done); done += 1) {
      await pause(500 + random.below(1000));
      await crash(random.below(instances));
      recorder.count('instance crashes');
      recorder.announce();
    }
  },
});
