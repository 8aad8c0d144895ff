import { isJsonObject } from '../json.ts';

/** The service whose webhooks a token sends, and the fields that labels of its answers stand for. */
export interface TokenSource {
  readonly name: string;
  readonly map: Readonly<Record<string, string>>;
}

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
