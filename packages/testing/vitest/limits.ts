import { availableParallelism, loadavg } from 'node:os';
import process from 'node:process';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** How fast a test is, is not judged: where CI runs, or beside much other work, it may have no processor for a minute. */
const isBusy = Boolean(process.env['CI']) || (loadavg()[0] ?? 0) > 4 * availableParallelism();

/** How long a test waits for an event before it says that the event did not happen. */
export const WAIT_LIMIT_MS = isBusy ? 2 * MINUTE_MS : 15 * SECOND_MS;

/** Ends a test that hangs, after its waits have ended. */
export const TEST_LIMIT_MS = 3 * MINUTE_MS;
