/** Tokens that commands sign and record. */
import { randomUUID } from 'node:crypto';
import type { TokenGrant } from '../../accounts/own-tokens.ts';
import type { IssuedToken, TokenScope } from '../../accounts/records.ts';
import { loadSigningKeys, type SigningKeys } from '../../accounts/signing-keys.ts';
import { DEFAULT_TOKEN_SCOPES } from '../../accounts/token-scopes.ts';
import type { Config } from '../../config.ts';
import { toIso } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { parseDuration } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../exit.ts';

const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

export const parseLifetime = parseDuration(
  MINUTE_MS,
  10 * 365 * DAY_MS,
  'Write 30m, 12h, 90d or 1y: from one minute to ten years.',
);

export interface TokenRequest extends Pick<TokenGrant, 'userId' | 'scopes' | 'source' | 'timeZone'> {
  readonly name: string | null;
  readonly lifetimeMs: number;
  /** Default: a new one. */
  readonly tokenId?: string;
}

/** What commands print. */
export interface PrintedToken {
  readonly userId: string;
  readonly tokenId: string;
  readonly token: string;
  readonly expiresAt: string;
  readonly scopes: readonly TokenScope[];
}

export interface TokenIssuer {
  readonly store: Pick<Store, 'recordTokens'>;
  readonly keys: SigningKeys;
  readonly now: number;
}

export const issuerOf = async (
  store: Store,
  config: Config,
  { clock }: CommandContext,
): Promise<TokenIssuer> => ({
  store,
  keys: await loadSigningKeys(config.signingKey, { create: false }),
  now: clock(),
});

/** Signs a token, and records it before anybody has it, so that it can be revoked. */
export async function issue(
  issuer: TokenIssuer,
  request: TokenRequest,
  record = (token: IssuedToken) => issuer.store.recordTokens([token]),
): Promise<PrintedToken> {
  const { printed, recorded } = await sign(issuer, request);
  await record(recorded);
  return printed;
}

export async function issueAll(
  issuer: TokenIssuer,
  requests: readonly TokenRequest[],
): Promise<readonly PrintedToken[]> {
  const signed = await Promise.all(requests.map((request) => sign(issuer, request)));
  await issuer.store.recordTokens(signed.map(({ recorded }) => recorded));
  return signed.map(({ printed }) => printed);
}

async function sign({ keys, now }: TokenIssuer, request: TokenRequest) {
  // Loaded only here: most commands sign nothing.
  const { issueToken, MAX_TOKEN_LENGTH } = await import('../../accounts/own-tokens.ts');
  const { name, lifetimeMs, tokenId = randomUUID(), ...rights } = request;
  const { userId, source, timeZone, scopes = DEFAULT_TOKEN_SCOPES } = rights;
  // Times in a token are whole seconds.
  const issuedAt = Math.floor(now / 1000) * 1000;
  const expiresAt = issuedAt + lifetimeMs;
  const token = await issueToken(keys, { ...rights, tokenId, issuedAt, expiresAt });
  // Web servers and Leadtap refuse longer headers.
  if (token.length > MAX_TOKEN_LENGTH)
    throw new Failure('usage', 'the token would be too long', 'Use fewer or shorter --map.');
  const settings = { ...(source && { source }), ...(timeZone !== undefined && { timeZone }) };
  return {
    printed: { userId, tokenId, token, expiresAt: toIso(expiresAt), scopes },
    recorded: { id: tokenId, userId, name, issuedAt, expiresAt, scopes, keyId: keys[0].id, settings },
  };
}

/** People paste a whole token by mistake. It is a secret, so the message does not show it. */
export function unknownToken(tokenId: string): Failure {
  const fix = '`leadtap token list --user ID` shows the ids.';
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(tokenId))
    return new Failure('bad-input', 'this is a token, not the id of a token', fix);
  return new Failure(
    'not-found',
    `no token with the id ${tokenId} was issued here`,
    `${fix} For a token of your identity provider, add --force.`,
  );
}
