import process from 'node:process';

/** Quadratic work on a text of this length takes a tenth of a second or more, linear work less than a millisecond. */
export const LONG = 20_000;
/** The most that a long text may take. */
export const MAX_MS = 20;
const RUNS = 5;

/**
 * The processor time of the fastest of five runs. That of one run may contain the time of the compiler, of the garbage collector,
 * or of other virtual machines on the same processor. The first run that is fast enough is the last one.
 */
export function fastestMs(run: () => void, enoughMs = MAX_MS): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < RUNS && fastest > enoughMs; count += 1) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    fastest = Math.min(fastest, (user + system) / 1000);
  }
  return fastest;
}
