import process from 'node:process';

const MINUTE_MS = 60_000;

/**
 * How long a test waits for an event before it says that it did not happen. How fast a test is depends on the machine, and is
 * not judged: where CI runs, other work may take most of the processors for minutes.
 */
export const HANG_LIMIT_MS = (process.env['CI'] ? 20 : 2) * MINUTE_MS;
