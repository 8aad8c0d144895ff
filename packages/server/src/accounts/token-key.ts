/** The key under which is stored what was observed of a token: consumers, webhook subscriptions, refused requests. */
import { MAX_TIME } from '../lib/clock.ts';
import type { VerifiedToken } from './records.ts';

/** All tokens of a user without an id, or with one that cannot be stored, have one key. */
export interface TokenKey {
  readonly userId: string;
  /** Null: all tokens of the user that have no id. */
  readonly tokenId: string | null;
}

/** Identity providers may issue others, which not every database can store. Such tokens count as tokens without an id. */
const TOKEN_ID = /^[ -~]{1,200}$/;

export const tokenKeyOf = ({ userId, tokenId = '' }: VerifiedToken): TokenKey => ({
  userId,
  tokenId: TOKEN_ID.test(tokenId) ? tokenId : null,
});

/** A key for maps. No id contains a NUL, and none is empty. */
export const tokenKeyText = ({ userId, tokenId }: TokenKey): string => `${userId}\0${tokenId ?? ''}`;

/** `exp` may have a fraction (RFC 7519), which no column of times can store. */
export const storableExpiry = ({ expiresAt = MAX_TIME }: VerifiedToken): number | null =>
  expiresAt < MAX_TIME ? Math.floor(expiresAt) : null;

/** With an id, in a table of what was observed. An identity provider may give each token of a user another id. */
export const MAX_TOKENS_PER_USER = 100;

/** What was observed of a token is deleted when it was not used for this long. */
export const KEEP_UNUSED_TOKENS_MS = 400 * 24 * 3_600_000;
