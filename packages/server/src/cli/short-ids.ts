/** Ids of tokens and webhook subscriptions, as tables show them at a terminal. Other commands accept them so. */
import { Failure } from './failure.ts';

const SHORT_LENGTH = 8;
/** More are not listed. */
const MAX_CANDIDATES = 10;
/** Other ids, such as those of an identity provider, may differ only at their end. */
const OWN_ID = /^[\da-f-]{32,36}$/;

export const SHORT_IDS_HELP =
  'At a terminal, ids are shortened to 8 characters. Other commands accept them so.';

export const shortenId = (id: string): string => (OWN_ID.test(id) ? id.slice(0, SHORT_LENGTH) : id);

export const isShortId = (text: string): boolean => /^[\da-f]{8}$/.test(text);

/** The only id that begins with the given text. Undefined: there is none, or the text is too short. */
export async function completeId(
  start: string,
  listIds: (after: string, limit: number) => Promise<readonly string[]>,
): Promise<string | undefined> {
  if (start.length < SHORT_LENGTH) return undefined;
  // Sorted, so those that begin with the text come first.
  const [found, ...others] = (await listIds(start, MAX_CANDIDATES)).filter((id) => id.startsWith(start));
  if (others.length === 0) return found;
  throw new Failure(
    'conflict',
    `several ids begin with ${start}: ${[found, ...others].join(', ')}`,
    'Give more characters of the id.',
  );
}
