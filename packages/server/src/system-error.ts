/** What was thrown, in words for people. */

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** `ENOENT` and its like; undefined for errors that have none. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** The same for every error of SQLite, so it tells nothing. */
const NO_NEWS = 'ERR_SQLITE_ERROR';

/** "fetch failed" has its reason, ENOTFOUND or an expired certificate, two causes further in. */
export function innermostCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = innermostCode(error.cause) ?? systemCode(error);
  return code === NO_NEWS ? undefined : code;
}

/** The message, with the place and the system's code behind it: `the key cannot be read (/data/key, EACCES)`. */
export function reasonOf(error: unknown, place = ''): string {
  const message = messageOf(error);
  const code = innermostCode(error) ?? '';
  const asides = [place, message.includes(code) ? '' : code].filter((aside) => aside !== '');
  return asides.length === 0 ? message : `${message} (${asides.join(', ')})`;
}
