/** The query parameters that several endpoints have. */
import { parse } from 'node:querystring';
import {
  MAX_LEADS_PER_PAGE,
  MIN_LEADS_PER_PAGE,
  type ParameterError,
  SINCE_EXAMPLE,
} from '@leadtap/contract';
import { parseInstant } from '../leads/instant.ts';
import { ProblemError } from './problems.ts';

/** The value of a parameter, or the sentence for the client that says how to fix it. */
export type Parsed<T> = { readonly value: T } | { readonly detail: string };

export const givenTwice = (example: string | number) => ({ detail: `Give it once, such as ${example}.` });

/** All parameters: by default those after the first 1,000 are left out. Node limits the URL to 16 kB. */
export const parametersOf = (search: string) => parse(search, '&', '=', { maxKeys: 0 });

export function parseLimit(given: unknown): Parsed<number> {
  if (given === undefined) return { value: MAX_LEADS_PER_PAGE };
  if (typeof given !== 'string') return givenTwice(MAX_LEADS_PER_PAGE);
  // Digits only: JavaScript also accepts "1e2", "0x10" and " 5 " as numbers.
  const limit = /^\d+$/.test(given) ? Number(given) : 0;
  if (limit >= MIN_LEADS_PER_PAGE) return { value: Math.min(limit, MAX_LEADS_PER_PAGE) };
  return {
    detail: `Give a whole number of at least ${MIN_LEADS_PER_PAGE}; above ${MAX_LEADS_PER_PAGE} it counts as ${MAX_LEADS_PER_PAGE}.`,
  };
}

export function parseTime(given: unknown): Parsed<number> {
  if (typeof given !== 'string') return givenTwice(SINCE_EXAMPLE);
  const value = parseInstant(given);
  return value === undefined
    ? { detail: `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.` }
    : { value };
}

export const parseOptional = <T>(
  given: unknown,
  parseGiven: (given: unknown) => Parsed<T>,
): Parsed<T | undefined> => (given === undefined ? { value: undefined } : parseGiven(given));

/** Names every invalid parameter. */
export const invalidQuery = (parameters: Readonly<Record<string, Parsed<unknown>>>): ProblemError =>
  new ProblemError('invalid-query', {
    errors: Object.entries(parameters).flatMap(([parameter, parsed]): ParameterError[] =>
      'detail' in parsed ? [{ parameter, detail: parsed.detail }] : [],
    ),
  });
