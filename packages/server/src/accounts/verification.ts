export interface VerifiedToken {
  readonly userId: string;
  /** Absent in tokens of an identity provider that gives none; such a token cannot be revoked alone. */
  readonly tokenId: string | undefined;
}

export type Verification =
  | { readonly kind: 'valid'; readonly token: VerifiedToken }
  | { readonly kind: 'invalid' | 'expired' };

/**
 * Says whose token this is; at once where that is known already. Rejects with TokenVerificationUnavailableError when it
 * cannot be found out now.
 */
export type VerifyToken = (token: string) => Verification | Promise<Verification>;

/** Nobody can say at the moment whether the token is good: the caller is told to come back, not that it is bad. */
export class TokenVerificationUnavailableError extends Error {
  override readonly name: string = 'TokenVerificationUnavailableError';
}
