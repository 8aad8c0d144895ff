export { type Checkpoint, type CheckpointStore, memoryCheckpoint } from './checkpoint.ts';
export type {
  Lead,
  LeadError,
  LeadStatus,
  ParameterError,
  Problem,
  ProblemCode,
  WrittenLead,
} from './contract.ts';
export type { Environment, FetchOptions } from './environment.ts';
export {
  type ErrorCode,
  ForbiddenError,
  LeadtapError,
  NotFoundError,
  RateLimitError,
  UnauthorizedError,
} from './errors.ts';
export { type NewLeadsOptions, newLeads } from './new-leads.ts';
export type { ConnectionOptions } from './options.ts';
export type { Page } from './page.ts';
export { type PollOptions, poll } from './poll.ts';
export { type RateLimit, readRateLimits } from './rate-limits.ts';
export { type LeadToSend, type SendLeadsOptions, sendLeads } from './send-leads.ts';
