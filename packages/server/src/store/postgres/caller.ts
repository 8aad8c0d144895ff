import { ClientDisconnectedError } from '../store.ts';

/** Settles as the work does, or as soon as nobody waits for it any more. */
export function unlessGone<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onGone = () => reject(new ClientDisconnectedError('the caller has gone'));
    if (signal.aborted) onGone();
    signal.addEventListener('abort', onGone, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onGone));
  });
}
