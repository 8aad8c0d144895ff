/**
 * Leadtap as a library: the endpoint as a Fastify plugin, over a store and a token verifier of your own.
 *
 * @module
 */
export type { ExternalTokens } from './accounts/external-tokens.ts';
export { issueToken, loadSigningKeys, type SigningKeys } from './accounts/own-tokens.ts';
export {
  makeVerifyToken,
  type Verification,
  type VerifiedToken,
  type VerifyToken,
} from './accounts/tokens.ts';
export { type Clock, systemClock } from './clock.ts';
export { type NewLeadsOptions, newLeads } from './http/new-leads.ts';
export type { PollObservation, PollObserver } from './http/observe-polls.ts';
export type { Limiter, Policy, Verdict, WindowState } from './limits/limiter.ts';
export { MemoryLimiter } from './limits/memory-limiter.ts';
export type * from './store/records.ts';
export { openSqliteStore, type SqliteOptions } from './store/sqlite/store.ts';
export * from './store/store.ts';
