import type { Recorder } from './judge/recorder.ts';
import type { Random } from './random.ts';

/** What every actor gets. */
export interface ActorContext {
  readonly recorder: Recorder;
  readonly random: Random;
  /** Asked before each piece of work, with the number of those that are done. */
  goesOn(done: number): boolean;
  /** A pause that the end of the trial cuts short. */
  pause(ms: number): Promise<void>;
}

/** A program that writes leads, or a fault. Several of them run side by side. */
export interface Actor {
  readonly name: string;
  run(context: ActorContext): Promise<void>;
}

/** The same actor with less to do. */
export const atMost = (times: number, actor: Actor): Actor => ({
  name: actor.name,
  run: (context) => actor.run({ ...context, goesOn: (done) => done < times && context.goesOn(done) }),
});

/** The same actor in bursts, with pauses of this average between them: as often as this load needs, not as the machine can. */
export const inBursts = (size: number, pauseMs: number, actor: Actor): Actor => ({
  name: actor.name,
  run: async (context) => {
    const { random, goesOn, pause } = context;
    for (let bursts = 0; goesOn(bursts); bursts += 1) {
      await actor.run({ ...context, goesOn: (done) => done < size && goesOn(done) });
      await pause(random.below(2 * pauseMs));
    }
  },
});

export interface Place {
  readonly branchId: string | null;
  readonly departmentId: string | null;
}

/** Given whole, so that a lead is there afterwards wherever it was before. */
export const PLACES: readonly [Place, ...Place[]] = [
  { branchId: 'north', departmentId: 'sales' },
  { branchId: 'north', departmentId: 'service' },
  { branchId: 'south', departmentId: null },
];

/** Also where only users of the company's level see it. For leads that are never moved. */
export const ALL_PLACES: readonly [Place, ...Place[]] = [
  ...PLACES,
  { branchId: 'north', departmentId: null },
  { branchId: null, departmentId: null },
];
