/** Where no limits are announced, a service that answers at once instead of waiting must not be flooded. */
const UNKNOWN_SPACING_MS = 1000;

/**
 * The time between two requests that makes the requests of the user last, from a list such as
 * `"minute";r=99;t=60, "hour";r=999;t=3600`: for each window the seconds until it ends, divided by the remaining requests.
 */
export function spacingMs(rateLimit = ''): number {
  const windows = [...rateLimit.matchAll(/"[^"]*"([^,]*)/g)].flatMap(([, parameters = '']) => {
    const remaining = /\br=(\d+)/.exec(parameters)?.[1];
    const seconds = /\bt=(\d+)/.exec(parameters)?.[1];
    return remaining && seconds ? (Number(seconds) * 1000) / Math.max(1, Number(remaining)) : [];
  });
  return windows.length === 0 ? UNKNOWN_SPACING_MS : Math.max(...windows);
}
