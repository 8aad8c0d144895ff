/** Requests that are sent again with the same `Idempotency-Key`. */
import { IDEMPOTENCY_KEY_DAYS } from '@leadtap/contract';
import type { LeadInput } from '../leads/record.ts';
import type { WrittenLead } from '../leads/store.ts';
import type { IdempotentRequest, WriteAllOutcome } from './store.ts';

export const KEY_RETENTION_MS = IDEMPOTENCY_KEY_DAYS * 86_400_000;
/** Old keys that a request removes with its own. More than one, so that they become fewer. */
export const MAX_KEYS_PRUNED = 10;

/** What a store keeps of a request. The ids are those of the repeated request, because an id may be personal data. */
export interface StoredRequest {
  readonly key_hash: string;
  readonly body_hash: string;
  readonly results: string;
}

export const encodeResults = (results: readonly WrittenLead[]): string =>
  JSON.stringify(results.map(({ createdAt, kind }) => [createdAt, kind]));

/** The keys that a store looks for. */
export const keyHashesOf = ({ keyHash, earlier }: IdempotentRequest): readonly [string, string] => [
  keyHash,
  earlier?.keyHash ?? keyHash,
];

/**
 * The result of the first request if this one is the same, `key-reused` if the key was sent with another, undefined if it is new.
 * An earlier key of the company with another body may be that of another token.
 */
export function repeatedOutcome(
  found: readonly StoredRequest[],
  { keyHash, bodyHash, earlier }: IdempotentRequest,
  leads: readonly LeadInput[],
): WriteAllOutcome | undefined {
  const own = found.find(({ key_hash }) => key_hash === keyHash);
  const known = own ?? found.find(({ body_hash }) => body_hash === bodyHash);
  if (!known) return undefined;
  if (known.body_hash !== bodyHash) return { kind: 'key-reused' };
  const ids = own ? leads.map(({ id }) => id) : earlier?.ids;
  const stored: [number, WrittenLead['kind']][] = JSON.parse(known.results);
  return {
    kind: 'written',
    isRepeated: true,
    results: stored.map(([createdAt, kind], index) => ({ kind, id: ids?.[index] ?? '', createdAt })),
  };
}

/** Thrown inside a transaction, so that it is rolled back. */
export class KeyReused extends Error {
  override readonly name = 'KeyReused';
}

/** A derived id that exists shows that the key was used before and has been forgotten. Throws `KeyReused`. */
export function requireUnusedKey(
  results: readonly WrittenLead[],
  request: IdempotentRequest | undefined,
): void {
  if (results.some(({ kind, id }) => kind === 'updated' && request?.derivedIds.has(id)))
    throw new KeyReused('a lead with an id that is derived from this key exists');
}
