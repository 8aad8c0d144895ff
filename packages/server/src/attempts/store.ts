/** The log of each consumer, webhook and sender: its last attempts. It has counts and times, and no data of leads. */
import { createHash } from 'node:crypto';
import { type TokenKey, tokenKeyText } from '../accounts/token-key.ts';

/** A code of `Attempt`: the client disconnected before it got the leads of a poll, or before the body that it sends had arrived. */
export const CLIENT_CLOSED_REQUEST_CODE = 'client-closed-request';

/** Leads, a refusal, a failure, or the first success after one: or several that are equal. */
export interface Attempt {
  readonly kind: 'leads' | 'empty' | 'refused' | 'failed' | 'recovered';
  /** Of the last one. */
  readonly at: number;
  readonly firstAt: number;
  readonly times: number;
  readonly status: number | null;
  readonly code: string | null;
  readonly leads: number;
  /** By a sender: leads that were there before. They are not in `leads`. */
  readonly updated: number;
  readonly since: number | null;
  readonly through: number | null;
  readonly durationMs: number | null;
  readonly heldMs: number | null;
  /** Of a webhook that has failed: what its receiver answered. It may repeat a lead, so it is deleted when leads are. */
  readonly reason: string | null;
  readonly nextTryAt: number | null;
  /** The names of the fields of a refused sender. */
  readonly fields: readonly string[];
  /** Of a webhook. */
  readonly host: string | null;
  /** Of a consumer: how many polls it had made with the first and with the last of these. Polls between two attempts had no leads. */
  readonly polls: readonly [first: number, last: number] | null;
}

/** New attempts of one subject, in the order of their times. */
export interface SubjectAttempts {
  /** The public id of the consumer, the webhook or the sender. */
  readonly subject: string;
  /** Its company is that of the log. */
  readonly userId: string;
  /** Of a user who may not exist any more. Default: that of the user. */
  readonly companyId?: string | undefined;
  readonly attempts: readonly Attempt[];
}

export interface AttemptQuery {
  readonly subject: string;
  /** That of the user. A user who was added again to another company does not see what was before. */
  readonly companyId: string;
  /** Undefined: from the newest. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface ListedAttempts {
  /** Newest first. */
  readonly attempts: readonly Attempt[];
  /** The oldest one that is not before `before`. */
  readonly newer: Attempt | undefined;
}

export interface AttemptStore {
  /**
   * Adds attempts. One that equals the newest of its subject is counted in its row. Of each subject, the newest
   * `MAX_ATTEMPTS` are kept. Those without a company are left out.
   */
  record(attempts: readonly SubjectAttempts[]): Promise<void>;
  list(query: AttemptQuery): Promise<ListedAttempts>;
  /** Deletes those from before this time, and the oldest of companies with more than `MAX_ATTEMPTS_OF_COMPANY`. */
  prune(before: number): Promise<void>;
}

/** Of each subject. */
export const MAX_ATTEMPTS = 100;
export const MAX_ATTEMPTS_OF_COMPANY = 20_000;
export const ATTEMPTS_KEPT_MS = 30 * 86_400_000;

/** Does not change, fits into a path, and tells nothing about the token or the hook. No id contains a NUL. */
const subjectOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 16);

export const senderIdOf = (key: TokenKey): string => subjectOf(tokenKeyText(key));
export const consumerIdOf = (key: TokenKey): string => subjectOf(`consumer\0${tokenKeyText(key)}`);
/** Of a webhook that sends leads. Its own id is a secret. */
export const hookSubjectOf = (hookId: string): string => subjectOf(`hook\0${hookId}`);
