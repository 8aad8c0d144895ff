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
  readonly body_hash: string;
  readonly results: string;
}

export const encodeResults = (results: readonly WrittenLead[]): string =>
  JSON.stringify(results.map(({ createdAt, kind }) => [createdAt, kind]));

/** The result of the first request if this one is the same, `key-reused` if the key was sent with another, undefined if it is new. */
export function repeatedOutcome(
  known: StoredRequest | undefined,
  { bodyHash }: IdempotentRequest,
  leads: readonly LeadInput[],
): WriteAllOutcome | undefined {
  if (!known) return undefined;
  if (known.body_hash !== bodyHash) return { kind: 'key-reused' };
  const stored: [number, WrittenLead['kind']][] = JSON.parse(known.results);
  return {
    kind: 'written',
    isRepeated: true,
    results: stored.map(([createdAt, kind], index) => ({ kind, id: leads[index]?.id ?? '', createdAt })),
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
