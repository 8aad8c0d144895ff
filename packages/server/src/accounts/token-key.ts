/** The key under which is stored what was observed of a token: connections, webhook subscriptions, refused requests. */
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

/** `exp` may have a fraction (RFC 7519), which no column of times can store. */
export const storableExpiry = ({ expiresAt = MAX_TIME }: VerifiedToken): number | null =>
  expiresAt < MAX_TIME ? Math.floor(expiresAt) : null;
