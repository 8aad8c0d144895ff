import { InactivityTimer } from './inactivity-timer.ts';

/** The outcome of `work`, or a rejection when it has none after so long. */
export function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = new InactivityTimer(limitMs, () => reject(new NoAnswerError(limitMs)));
    timer.restart();
    work.then(resolve, reject).finally(() => timer.stop());
  });
}

export class NoAnswerError extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs} ms`);
  }
}
