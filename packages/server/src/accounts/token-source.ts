import { isJsonObject } from '../lib/json.ts';
import type { TokenSource } from './records.ts';

/** Reads the claims `source` and `map`. Undefined if the token has none. */
export function parseTokenSource({
  source,
  map,
}: Readonly<Record<string, unknown>>): TokenSource | undefined {
  if (typeof source !== 'string') return undefined;
  const entries = isJsonObject(map) ? Object.entries(map) : [];
  return {
    name: source,
    map: Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  };
}
