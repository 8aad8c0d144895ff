/** Requests that are sent again with the same `Idempotency-Key`. */
import { createHmac, hash } from 'node:crypto';
import { IDEMPOTENCY_KEY_DAYS } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import type { LeadInput, LeadScope } from '../leads/record.ts';
import type { WrittenLead } from '../leads/store.ts';
import type { IdempotentRequest, WriteAllOutcome } from './store.ts';

/** A key belongs to its token, or to its user if the token has no id. */
const ownedKey = (companyId: string, { userId, tokenId }: VerifiedToken, key: string): readonly unknown[] => [
  companyId,
  userId,
  tokenId ?? null,
  key,
];

/** Another access level would place the leads elsewhere, so it makes another request. */
export const identifyRequest = (
  scope: LeadScope,
  sender: VerifiedToken,
  key: string,
  body: Buffer,
  derivedIds: ReadonlySet<string>,
): IdempotentRequest => ({
  keyHash: hash('sha256', JSON.stringify(ownedKey(scope.companyId, sender, key))),
  bodyHash: createHmac('sha256', key).update(JSON.stringify(scope)).update(body).digest('hex'),
  derivedIds,
});

/**
 * A UUID of version 8 (RFC 9562): 122 bits of a hash. It must never change, because a retry must get the id of the first
 * attempt, also after an update of Leadtap.
 */
export function deriveId(companyId: string, sender: VerifiedToken, key: string, index: number): string {
  const digits = hash('sha256', JSON.stringify([...ownedKey(companyId, sender, key), index]));
  const variant = '89ab'[Number.parseInt(digits.slice(15, 16), 16) % 4];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(12, 15)}`,
    `${variant}${digits.slice(16, 19)}`,
    digits.slice(19, 31),
  ].join('-');
}

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
