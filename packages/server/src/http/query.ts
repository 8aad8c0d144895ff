import { parse } from 'node:querystring';
import {
  MAX_LEADS_PER_PAGE,
  MIN_LEADS_PER_PAGE,
  type ParameterError,
  SINCE_EXAMPLE,
} from '@leadtap/contract';
import type { PollQuery } from '../leads/poll.ts';
import { parseSince } from '../leads/since.ts';
import { ProblemError } from './problems.ts';

type Reading<T> = { readonly value: T } | { readonly detail: string };

const givenTwice = (example: string | number) => ({ detail: `Give it once, such as ${example}.` });

function readLimit(given: unknown): Reading<number> {
  if (given === undefined) return { value: MAX_LEADS_PER_PAGE };
  if (typeof given !== 'string') return givenTwice(MAX_LEADS_PER_PAGE);
  // Digits only: JavaScript would also take "1e2", "0x10" and " 5 " for numbers.
  const limit = /^\d+$/.test(given) ? Number(given) : 0;
  if (limit >= MIN_LEADS_PER_PAGE) return { value: Math.min(limit, MAX_LEADS_PER_PAGE) };
  return {
    detail: `Give a whole number of at least ${MIN_LEADS_PER_PAGE}; above ${MAX_LEADS_PER_PAGE} it counts as ${MAX_LEADS_PER_PAGE}.`,
  };
}

function readSince(given: unknown): Reading<number | undefined> {
  if (given === undefined) return { value: undefined };
  if (typeof given !== 'string') return givenTwice(SINCE_EXAMPLE);
  const reading = parseSince(given);
  return reading.kind === 'instant' ? { value: reading.at } : { detail: reading.detail };
}

/** As the Link of an answer has it, or a part of that, without anything that would have to be decoded. */
const OWN_QUERY = /^(?:since=(?<since>[\w:.-]+)(?:&|$))?(?:limit=(?<limit>\w+))?$/;

/** The fifth check. Every bad parameter is named at once; parameters that are not ours are ignored. */
export function parseQuery(search: string): PollQuery {
  const query = OWN_QUERY.exec(search)?.groups ?? parse(search);
  const limit = readLimit(query['limit']);
  const since = readSince(query['since']);
  if ('value' in limit && 'value' in since)
    return since.value === undefined ? { limit: limit.value } : { since: since.value, limit: limit.value };
  throw new ProblemError('invalid-query', {
    errors: Object.entries({ limit, since }).flatMap(([parameter, reading]): ParameterError[] =>
      'detail' in reading ? [{ parameter, detail: reading.detail }] : [],
    ),
  });
}
