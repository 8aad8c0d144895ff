import process from 'node:process';
import { ExitCode } from './exit-code.ts';

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
/** Ctrl+C reaches the program twice when npm runs it: from the terminal, and some milliseconds later from npm. */
const REPEAT_MS = 1000;
/** Node removes its signal handlers when the process ends, and a signal that arrives then kills it. So it waits for that of npm. */
const KEEP_ALIVE_MS = 100;

/** Aborts at the first signal that asks the process to stop. A signal more than a second later calls `exit`. */
export function stopOnSignals(exit: (code: number) => void): AbortSignal {
  const stop = new AbortController();
  let stoppedAt = 0;
  for (const [signal, number] of Object.entries(SIGNALS))
    process.on(signal, () => {
      if (!stop.signal.aborted) {
        stoppedAt = performance.now();
        setTimeout(() => undefined, KEEP_ALIVE_MS);
        stop.abort(new ExitCode(128 + number));
      } else if (performance.now() - stoppedAt >= REPEAT_MS) {
        exit(128 + number);
      }
    });
  return stop.signal;
}
