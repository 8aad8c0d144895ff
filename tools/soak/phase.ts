import type { Actor } from '../../packages/testing/delivery-trial/actor.ts';
import type { Trial } from '../../packages/testing/delivery-trial/trial.ts';

export interface PhaseOptions {
  readonly title: string;
  readonly actors: readonly Actor[];
  readonly seconds: number;
  readonly seed: number;
  readonly print: (text: string) => void;
  /** What happens beside the actors. */
  readonly beside?: Promise<unknown>;
}

const PROGRESS_EVERY_MS = 10_000;

/** The actors work for so long, and then every client polls until it is answered. */
export async function runPhase(trial: Trial, options: PhaseOptions): Promise<void> {
  const { title, actors, seconds, seed, print, beside } = options;
  const { recorder } = trial;
  for (const { name } of actors) recorder.count(`actors: ${name}`);
  const begun = performance.now();
  const passed = () => Math.round((performance.now() - begun) / 1000);
  const progress = setInterval(
    () =>
      print(`  ${title}: ${passed()} of ${seconds} s, ${recorder.writes} writes, ${recorder.pages} pages`),
    PROGRESS_EVERY_MS,
  );
  const end = begun + seconds * 1000;
  try {
    await Promise.all([trial.run(actors, { seed, isEnough: () => performance.now() > end }), beside]);
    await trial.recover();
  } finally {
    clearInterval(progress);
  }
}
