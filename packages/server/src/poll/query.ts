import { parse } from 'node:querystring';
import {
  MAX_LEADS_PER_PAGE,
  MIN_LEADS_PER_PAGE,
  type ParameterError,
  SINCE_EXAMPLE,
} from '@leadtap/contract';
import { ProblemError } from '../http/problems.ts';
import { parseInstant, parseUtc } from '../leads/instant.ts';
import type { PollQuery } from './pages.ts';

/** The value of a parameter, or the sentence for the client that says how to fix it. */
type Parsed<T> = { readonly value: T } | { readonly detail: string };

const givenTwice = (example: string | number) => ({ detail: `Give it once, such as ${example}.` });

function parseLimit(given: unknown): Parsed<number> {
  if (given === undefined) return { value: MAX_LEADS_PER_PAGE };
  if (typeof given !== 'string') return givenTwice(MAX_LEADS_PER_PAGE);
  // Digits only: JavaScript also accepts "1e2", "0x10" and " 5 " as numbers.
  const limit = /^\d+$/.test(given) ? Number(given) : 0;
  if (limit >= MIN_LEADS_PER_PAGE) return { value: Math.min(limit, MAX_LEADS_PER_PAGE) };
  return {
    detail: `Give a whole number of at least ${MIN_LEADS_PER_PAGE}; above ${MAX_LEADS_PER_PAGE} it counts as ${MAX_LEADS_PER_PAGE}.`,
  };
}

type Since = Pick<PollQuery, 'since' | 'sinceText'>;

const NO_SINCE: Parsed<Since> = { value: {} };

function parseSince(given: unknown): Parsed<Since> {
  if (given === undefined) return NO_SINCE;
  if (typeof given !== 'string') return givenTwice(SINCE_EXAMPLE);
  const since = parseUtc(given);
  if (since !== undefined) return { value: { since, sinceText: given } };
  const other = parseInstant(given);
  return other === undefined
    ? { detail: `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.` }
    : { value: { since: other } };
}

/** The problem names every invalid parameter; unknown parameters are ignored. */
export function parseQuery(search: string): PollQuery {
  // All parameters: by default those after the first 1,000 are left out, and a `since` among them. Node limits the URL to 16 kB.
  const query = parse(search, '&', '=', { maxKeys: 0 });
  const limit = parseLimit(query['limit']);
  const since = parseSince(query['since']);
  if ('value' in limit && 'value' in since) return { ...since.value, limit: limit.value };
  throw new ProblemError('invalid-query', {
    errors: Object.entries({ limit, since }).flatMap(([parameter, parsed]): ParameterError[] =>
      'detail' in parsed ? [{ parameter, detail: parsed.detail }] : [],
    ),
  });
}
