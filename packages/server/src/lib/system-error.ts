/** Messages and codes of thrown errors. */

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A code such as `ENOENT`; undefined if the error has none. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** The code of every SQLite error, so it says nothing. */
const SQLITE_ERROR = 'ERR_SQLITE_ERROR';

/** The code of the innermost cause: "fetch failed" has ENOTFOUND, or the code of an expired certificate, two causes deeper. */
export function innermostCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = innermostCode(error.cause) ?? systemCode(error);
  return code === SQLITE_ERROR ? undefined : code;
}

/** The message, followed by the place and the code: `the key cannot be read (/data/key, EACCES)`. */
export function reasonOf(error: unknown, place = ''): string {
  const message = messageOf(error);
  const code = innermostCode(error) ?? '';
  const details = [place, message.includes(code) ? '' : code].filter((detail) => detail !== '');
  return details.length === 0 ? message : `${message} (${details.join(', ')})`;
}

/** Of `link` on a file system without hard links: exFAT, some network and container file systems. */
const NO_HARD_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

export const hasNoHardLinks = (error: unknown): boolean => NO_HARD_LINKS.includes(systemCode(error) ?? '');
