import process from 'node:process';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** Where CI runs, other work may take most of the processors for minutes. How fast a test is, is not judged. */
const isOnSlowMachine = Boolean(process.env['CI']);

/** How long a test waits for an event before it says that the event did not happen. */
export const WAIT_LIMIT_MS = isOnSlowMachine ? 20 * MINUTE_MS : 15 * SECOND_MS;

/** Ends a test that hangs, long after its waits have ended. */
export const TEST_LIMIT_MS = isOnSlowMachine ? 60 * MINUTE_MS : 5 * MINUTE_MS;
