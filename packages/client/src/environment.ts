/** What the client asks of `fetch`: the same in every platform. */
export interface FetchOptions {
  readonly headers: Record<string, string>;
  /** Absent for polls. */
  readonly method?: 'POST';
  readonly body?: string;
  readonly redirect?: 'manual';
  readonly cache: 'no-store';
  readonly signal: AbortSignal;
}

/** What the client needs of the world around it. The defaults are the platform's; tests bring their own. */
export interface Environment {
  /** Sends a request. Give your own to go through a proxy, or to watch what is sent. */
  readonly fetch: (url: string, init: FetchOptions) => Promise<Response>;
  /** Milliseconds since 1970. Must not go back while the program runs. */
  readonly now: () => number;
  /** Is over after so many milliseconds, or when the signal says so. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** At least 0, less than 1. */
  readonly random: () => number;
  /** Another text each time, in every process. */
  readonly uniqueId: () => string;
  /** Says when a request has had its time. */
  readonly timeLimit: (ms: number) => AbortSignal;
}

export const PLATFORM: Environment = {
  fetch: (url, init) => fetch(url, init),
  // Not `Date.now()`: when the clock is set back, waiting must not become longer.
  now: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    }),
  random: Math.random,
  uniqueId: () => crypto.randomUUID(),
  timeLimit: (ms) => AbortSignal.timeout(ms),
};
