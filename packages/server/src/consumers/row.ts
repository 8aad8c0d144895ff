/** The rows of the table `consumers`, as both adapters read and write them. */

import type { User } from '../accounts/records.ts';
import type { Gap } from './gaps.ts';
import {
  type Consumer,
  type ConsumerPosition,
  type Downtime,
  ENDED_TOKEN_MS,
  MIN_DOWNTIME_MS,
  type TokenEnd,
} from './store.ts';

const NO_GAPS: readonly Gap[] = [];

/** The stored form of a token without an id, because a key has no nulls. */
export const NO_TOKEN_ID = '';

/** The columns of the table `consumers` that are used. Times are milliseconds. */
export interface ConsumerRow {
  readonly user_id: string;
  readonly token_id: string;
  readonly token_expires_at: number | null;
  readonly first_poll_at: number;
  readonly last_poll_at: number;
  readonly last_status: number;
  readonly polls: number;
  readonly waiting_until: number | null;
  readonly interval_ms: number | null;
  readonly confirmed_through: number | null;
  readonly delivered_through: number | null;
  /** JSON. Null: none. */
  readonly gaps: string | null;
  readonly confirmed_at: number | null;
}

/** The kind of each column, in the order of the table. */
export const CONSUMER_COLUMNS: { readonly [Name in keyof ConsumerRow]: 'text' | 'time' | 'integer' } = {
  user_id: 'text',
  token_id: 'text',
  token_expires_at: 'time',
  first_poll_at: 'time',
  last_poll_at: 'time',
  last_status: 'integer',
  polls: 'integer',
  waiting_until: 'time',
  interval_ms: 'integer',
  confirmed_through: 'time',
  delivered_through: 'time',
  gaps: 'text',
  confirmed_at: 'time',
};

export const toRow = (position: ConsumerPosition): ConsumerRow => ({
  user_id: position.userId,
  token_id: position.tokenId ?? NO_TOKEN_ID,
  token_expires_at: position.tokenExpiresAt,
  first_poll_at: position.firstPollAt,
  last_poll_at: position.lastPollAt,
  last_status: position.lastStatus,
  polls: position.polls,
  waiting_until: position.heldUntil,
  interval_ms: position.intervalMs,
  confirmed_through: position.confirmedThrough,
  delivered_through: position.deliveredThrough,
  gaps: position.gaps.length === 0 ? null : JSON.stringify(position.gaps),
  confirmed_at: position.confirmedAt,
});

export const fromRow = (row: ConsumerRow): ConsumerPosition => ({
  userId: row.user_id,
  tokenId: row.token_id === NO_TOKEN_ID ? null : row.token_id,
  tokenExpiresAt: row.token_expires_at,
  firstPollAt: row.first_poll_at,
  lastPollAt: row.last_poll_at,
  lastStatus: row.last_status,
  polls: row.polls,
  heldUntil: row.waiting_until,
  intervalMs: row.interval_ms,
  confirmedThrough: row.confirmed_through,
  deliveredThrough: row.delivered_through,
  gaps: row.gaps === null ? NO_GAPS : JSON.parse(row.gaps),
  confirmedAt: row.confirmed_at,
});

/** A row of `list`: the columns of the table, the user, the name of the token, and the counts. */
export interface ListedRow extends ConsumerRow {
  readonly company_id: string;
  readonly plan: string;
  readonly access_level: User['accessLevel'];
  readonly branch_id: string | null;
  readonly department_id: string | null;
  readonly name: string | null;
  readonly token_issued_at: number | null;
  readonly pending: number;
  readonly pending_since: number | null;
  readonly skipped: number;
  readonly skipped_since: number | null;
  readonly unconfirmed_since: number | null;
  readonly is_revoked: boolean | number;
  readonly unavailable_since: number | null;
  readonly available_since: number | null;
}

export const toConsumer = (row: ListedRow, now: number): Consumer => ({
  ...fromRow(row),
  name: row.name,
  tokenIssuedAt: row.token_issued_at,
  user: {
    id: row.user_id,
    companyId: row.company_id,
    plan: row.plan,
    accessLevel: row.access_level,
    branchId: row.branch_id,
    departmentId: row.department_id,
  },
  pendingLeads: row.pending,
  pendingSince: row.pending_since,
  skippedLeads: row.skipped,
  skippedSince: row.skipped_since,
  unconfirmedSince: row.unconfirmed_since,
  tokenEnded: tokenEndOf(row, now),
  downtime: toDowntime(row),
});

function tokenEndOf(row: ListedRow, now: number): TokenEnd | null {
  if (row.last_status !== 401 || row.last_poll_at <= now - ENDED_TOKEN_MS) return null;
  if (row.is_revoked) return 'revoked';
  return row.token_expires_at !== null && row.token_expires_at <= now ? 'expired' : 'key-removed';
}

function toDowntime({
  unavailable_since: unavailableSince,
  available_since: availableSince,
}: ListedRow): Downtime | null {
  if (unavailableSince === null || availableSince === null) return null;
  return availableSince - unavailableSince < MIN_DOWNTIME_MS ? null : { unavailableSince, availableSince };
}
