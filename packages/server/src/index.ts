/**
 * Leadtap as a library: the endpoints as Node request listeners, with a store of Leadtap and your own token verifier.
 *
 * @module
 */
export {
  type ExternalTokens,
  type JwksLocation,
  type JwksTiming,
  JwksUnavailableError,
  TokenVerificationUnavailableError,
} from './accounts/external-tokens.ts';
export { issueToken, type TokenGrant } from './accounts/own-tokens.ts';
export type * from './accounts/records.ts';
export {
  loadSigningKeys,
  type SigningKey,
  SigningKeyError,
  type SigningKeySource,
  type SigningKeys,
} from './accounts/signing-keys.ts';
export type * from './accounts/store.ts';
export { TOKEN_SCOPES } from './accounts/token-scopes.ts';
export {
  makeVerifyToken,
  type TokenSources,
  type Verification,
  type VerifyToken,
} from './accounts/tokens.ts';
export { ConnectionRecorder, type RecorderOptions } from './connections/recorder.ts';
export type * from './connections/store.ts';
export {
  createIntakeHandler,
  createPollHandler,
  type IntakeHandlerOptions,
  type PollHandlerOptions,
} from './embed.ts';
export type * from './hooks/store.ts';
export type { RequestHandler } from './http/endpoint.ts';
export type { RequestLogger } from './http/exchange.ts';
export type { TrustProxy } from './http/headers.ts';
export type { IntakeObservation, IntakeObserver } from './intake/endpoint.ts';
export type * from './intake/store.ts';
export type * from './leads/record.ts';
export type * from './leads/removal.ts';
export type { PageLead, RenderedLead } from './leads/render.ts';
export type * from './leads/store.ts';
export { type Clock, systemClock } from './lib/clock.ts';
export {
  FAILED_TOKEN_POLICIES,
  INTAKE_POLICIES,
  type Limiter,
  MemoryLimiter,
  type Policy,
  USER_POLICIES,
  type Verdict,
  type WindowState,
} from './limits/limiter.ts';
export type { PollObservation, PollObserver } from './poll/endpoint.ts';
export type * from './poll/store.ts';
export * from './sql/errors.ts';
export { openPostgresStore, type PostgresOptions } from './store/postgres/store.ts';
export { openSqliteStore, type SqliteOptions } from './store/sqlite/store.ts';
export type * from './store/store.ts';
