import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { StoreTimeouts } from '../open-store.ts';

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Everything a command touches of the outside world, so that tests can run commands in their own process. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths and `.env` are found from here. */
  readonly cwd: string;
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** Fires when the person or the system asks the command to stop. */
  readonly signal: AbortSignal;
  /** Default: those of the store. */
  readonly storeTimeouts?: StoreTimeouts;
}
