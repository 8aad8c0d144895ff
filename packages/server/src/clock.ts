/**
 * The current time in whole milliseconds since 1970. Passed in wherever something is decided by it, so that tests own
 * it; what only names or dates an answer, such as a request's id, takes the system's.
 */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** `2026-03-02T09:30:00.000Z`: the one way Leadtap writes a time. */
export const toIso = (ms: number): string => new Date(ms).toISOString();
