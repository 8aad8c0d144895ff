/**
 * What consumers have received that do not exist any more: webhooks that were deleted, consumers that were forgotten, those of removed
 * users. Without it, leads that they received would count as unseen, and leads that waited for them as from before any automation.
 */
import { query, type SqlTask, type Table } from '../sql/sql.ts';

interface StoredEndedConsumer {
  readonly userId: string;
  /** As in `received_leads`. */
  readonly tokenId: string | null;
  readonly endedAt: number;
  readonly companyId: string;
  /** With the places: what its user could see when it ended. */
  readonly accessLevel: 'COMPANY' | 'BRANCH' | 'DEPARTMENT';
  readonly branchId: string | null;
  readonly departmentId: string | null;
  /** Its position: later leads waited for it. */
  readonly through: number;
  /** As in `consumers`. */
  readonly gaps: string | null;
  readonly scopes: string | null;
}

export const ENDED_CONSUMERS: Table<StoredEndedConsumer> = {
  name: 'ended_consumers',
  key: ['user_id', 'token_id', 'ended_at'],
  types: {
    userId: 'text',
    tokenId: 'nullAsEmpty',
    endedAt: 'time',
    companyId: 'text',
    accessLevel: 'text',
    branchId: 'text',
    departmentId: 'text',
    through: 'time',
    gaps: 'text',
    scopes: 'text',
  },
};

/** The diagnosis counts the leads of so long. */
export const ENDED_KEPT_MS = 30 * 24 * 3_600_000;
/** A client may subscribe and delete webhooks again and again. The newest ones are kept. */
const MAX_ENDED_PER_USER = 50;

/** How far the consumer `c` has come. */
export const POSITION_OF_CONSUMER = `CASE WHEN c.confirmed_through > c.delivered_through OR c.delivered_through IS NULL
  THEN c.confirmed_through ELSE c.delivered_through END`;

const INTO = `INSERT INTO leadtap.ended_consumers
  (user_id, token_id, ended_at, company_id, access_level, branch_id, department_id, through, gaps, scopes)`;
const USER = 'u.company_id, u.access_level, u.branch_id, u.department_id';
const ONCE = 'ON CONFLICT DO NOTHING';

/** The values: now, user, token. Without a token: all of the user. */
const END_CONSUMERS = `${INTO}
  SELECT c.user_id, c.token_id, leadtap.from_ms($1), ${USER}, ${POSITION_OF_CONSUMER}, c.gaps, c.scopes
    FROM leadtap.consumers AS c JOIN leadtap.users AS u ON u.id = c.user_id
   WHERE c.user_id = $2 AND c.token_id = coalesce($3, c.token_id) AND ${POSITION_OF_CONSUMER} IS NOT NULL ${ONCE}`;

/** Of hooks `h` that send leads: those of a removed user, or of one who is in another company now, have ended before. The first value is now. */
export const endHooksSql = (hooks: string, condition: string): string => `${INTO}
  SELECT h.user_id, h.id, leadtap.from_ms($1), ${USER}, h.announced_through,
         '[{"after":null,"through":' || leadtap.to_ms(h.announced_since) || ',"isBeforeStart":true}]', h.scopes
    FROM ${hooks} AS h JOIN leadtap.users AS u ON u.id = h.user_id AND u.company_id = h.company_id
   WHERE h.send = 'lead' AND ${condition} ${ONCE}`;

const IS_REVOKED = 'EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = h.token_id)';
/** A hook ends when its token is revoked, and is deleted later. */
export const IS_NOT_REVOKED = `NOT ${IS_REVOKED}`;
const END_HOOKS_OF_USER = endHooksSql('leadtap.hooks', `h.user_id = $2 AND ${IS_NOT_REVOKED}`);
const END_HOOKS_OF_TOKEN = endHooksSql('leadtap.hooks', `h.token_id = $2 AND ${IS_NOT_REVOKED}`);

const DELETE_OLDEST = `
  DELETE FROM leadtap.ended_consumers WHERE user_id = $1 AND ended_at < (
    SELECT e.ended_at FROM leadtap.ended_consumers AS e WHERE e.user_id = $1
     ORDER BY e.ended_at DESC LIMIT 1 OFFSET ${MAX_ENDED_PER_USER - 1})`;
const PRUNE = 'DELETE FROM leadtap.ended_consumers WHERE ended_at <= leadtap.from_ms($1)';

export function* limitEnded(userIds: Iterable<string>): SqlTask<void> {
  for (const userId of new Set(userIds)) yield* query(DELETE_OLDEST, [userId]);
}

/** Before the consumer is deleted. */
export function* endConsumer(userId: string, tokenId: string | null, now: number): SqlTask<void> {
  yield* query(END_CONSUMERS, [now, userId, tokenId ?? '']);
  yield* limitEnded([userId]);
}

/** Before the user is removed. */
export function* endConsumersOfUser(userId: string, now: number): SqlTask<void> {
  yield* query(END_CONSUMERS, [now, userId, null]);
  yield* query(END_HOOKS_OF_USER, [now, userId]);
}

/** Before the token is revoked. A consumer of a revoked token is kept as it is. */
export function* endHooksOfToken(tokenId: string, now: number): SqlTask<void> {
  yield* query(END_HOOKS_OF_TOKEN, [now, tokenId]);
}

export function* pruneEnded(now: number): SqlTask<void> {
  yield* query(PRUNE, [now - ENDED_KEPT_MS]);
}
