/**
 * Leadtap as a library: the endpoint as a Node request listener or a Fastify plugin, with your own store and token
 * verifier.
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
export {
  loadSigningKeys,
  type SigningKey,
  SigningKeyError,
  type SigningKeySource,
  type SigningKeys,
} from './accounts/signing-keys.ts';
export { TOKEN_SCOPES, type TokenScope } from './accounts/token-scopes.ts';
export {
  makeVerifyToken,
  type TokenSources,
  type Verification,
  type VerifiedToken,
  type VerifyToken,
} from './accounts/tokens.ts';
export { type Clock, systemClock } from './clock.ts';
export { leadsIntake, type NewLeadsOptions, newLeads } from './http/fastify-plugins.ts';
export type { PublicUrl, TrustProxy } from './http/forwarded.ts';
export {
  createIntakeHandler,
  type IntakeHandlerOptions,
  type IntakeObservation,
  type IntakeObserver,
  type IntakeOptions,
} from './http/intake-handler.ts';
export {
  createPollHandler,
  type PollHandler,
  type PollHandlerOptions,
  type PollOptions,
} from './http/poll-handler.ts';
export type { PollObservation, PollObserver } from './http/poll-observer.ts';
export type { RequestLogger } from './http/request-log.ts';
export {
  ConsumerRecorder,
  type EndedPoll,
  type PollRecorder,
  type RecorderOptions,
} from './leads/consumer-recorder.ts';
export {
  FAILED_TOKEN_POLICIES,
  INTAKE_POLICIES,
  type Limiter,
  type Policy,
  USER_POLICIES,
  type Verdict,
  type WindowState,
} from './limits/limiter.ts';
export { MemoryLimiter } from './limits/memory-limiter.ts';
export { type Gap, keepGapsWithLeads, type SentRange } from './store/consumer-gaps.ts';
export {
  type Consumer,
  type ConsumerKey,
  type ConsumerPosition,
  type ConsumerQuery,
  type ConsumerStore,
  type Downtime,
  MAX_CONSUMERS_PER_USER,
  mergePolls,
  type PollSummary,
  startOfFirstPolls,
  type TokenEnd,
} from './store/consumers.ts';
export type * from './store/hooks.ts';
export type * from './store/lead-removal.ts';
export { DEFAULT_LEAD_FIELDS } from './store/lead-row.ts';
export type { OrganisationReader, StoredCompany } from './store/organisation-reader.ts';
export { openPostgresStore, type PostgresOptions } from './store/postgres/store.ts';
export type * from './store/records.ts';
export { openSqliteStore, type SqliteOptions } from './store/sqlite/store.ts';
export * from './store/store.ts';
