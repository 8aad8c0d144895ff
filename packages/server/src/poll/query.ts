import { invalidQuery, type Parsed, parametersOf, parseLimit, parseTime } from '../http/query.ts';
import { parseUtc } from '../leads/instant.ts';
import type { PollQuery } from './pages.ts';

type Since = Pick<PollQuery, 'since' | 'sinceText'>;

const NO_SINCE: Parsed<Since> = { value: {} };

function parseSince(given: unknown): Parsed<Since> {
  if (given === undefined) return NO_SINCE;
  const since = typeof given === 'string' ? parseUtc(given) : undefined;
  if (typeof given === 'string' && since !== undefined) return { value: { since, sinceText: given } };
  const other = parseTime(given);
  return 'detail' in other ? other : { value: { since: other.value } };
}

/** The problem names every invalid parameter; unknown parameters are ignored. */
export function parseQuery(search: string): PollQuery {
  const query = parametersOf(search);
  const limit = parseLimit(query['limit']);
  const since = parseSince(query['since']);
  if ('value' in limit && 'value' in since) return { ...since.value, limit: limit.value };
  throw invalidQuery({ limit, since });
}
