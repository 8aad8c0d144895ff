/** The facts of connections, for lists: what was sent, waits, was missed, held and lost. */

import type { LeadError } from '@leadtap/contract';
import type { PollingUser } from '../leads/access.ts';
import { type Dialect, query, type SqlTask } from '../sql/sql.ts';
import { hourOf } from './deliveries-sql.ts';
import { SELECTED, type StoredConnection, toConnection } from './record-sql.ts';
import { countWaiting, firstWaiting, IS_OWED_MISS } from './state-sql.ts';
import type {
  ConnectionFacts,
  ConnectionListQuery,
  HeldCount,
  HourCount,
  LostCount,
  MissedReason,
} from './store.ts';

const BAR_HOURS = 24;
const HOUR_MS = 3_600_000;
const MIN_LEADS_FOR_PAUSE = 10;

/** The tokens of a connection that are not revoked. */
const TOKENS = `FROM leadtap.issued_tokens AS t
  WHERE t.user_id = c.user_id AND (c.key = 'n:' || t.name OR c.key = 't:' || t.id)
    AND NOT EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = t.id)`;
/** The key of the connection that sent a refused request, with its token if it was issued here. */
export const KEY_OF_HELD = `CASE WHEN t.name IS NOT NULL THEN 'n:' || t.name
  WHEN r.client IS NOT NULL THEN 'c:' || r.client ELSE 't:' || r.token_id END`;
const HOOKS = 'FROM leadtap.hooks AS h WHERE h.user_id = c.user_id AND h.connection_id = c.id';

/** The first value is the limit; then the company, the user, the last one of the page before, the accepted keys, and an id. */
const listSql = (dialect: Dialect): string => `
  WITH page AS MATERIALIZED (
    SELECT c.* FROM leadtap.connections AS c
     WHERE (CAST($2 AS text) IS NULL OR c.company_id = $2) AND (CAST($3 AS text) IS NULL OR c.user_id = $3) AND c.id > $4 AND (CAST($6 AS text) IS NULL OR c.id = $6)
     ORDER BY c.id LIMIT $1)
  SELECT ${SELECTED}, leadtap.to_ms(${dialect.lastStampOf('c.company_id')}) AS "lastStamp", u.id AS "currentUser", u.company_id AS "userCompany", u.plan, u.access_level AS "accessLevel",
         u.branch_id AS "branchId", u.department_id AS "departmentId",
         (SELECT count(*) ${TOKENS}) AS tokens,
         (SELECT count(*) ${TOKENS} AND (t.key_id IS NULL OR ${dialect.isIn('t.key_id', '$5')} OR ${dialect.isIn("''", '$5')})) AS "acceptedTokens",
         (SELECT leadtap.to_ms(max(t.expires_at)) ${TOKENS}) AS "keysUntil",
         (SELECT leadtap.to_ms(max(t.used_at)) ${TOKENS} AND t.replaced_by IS NOT NULL) AS "oldKeyUsedAt",
         (SELECT count(*) ${HOOKS}) AS hooks,
         (SELECT count(*) ${HOOKS} AND (h.key_id IS NULL OR ${dialect.isIn('h.key_id', '$5')} OR ${dialect.isIn("''", '$5')})) AS "acceptedHooks",
         (SELECT min(h.url) ${HOOKS}) AS url,
         (SELECT leadtap.to_ms(min(h.check_at)) ${HOOKS} AND h.failures > 0) AS "nextTryAt",
         (SELECT leadtap.to_ms(min(h.failing_since)) ${HOOKS} AND h.failures > 1 AND h.disabled_at IS NULL) AS "webhookFailingSince",
         CASE WHEN c.start_stamp IS NULL OR u.id IS NULL THEN 0 ELSE ${countWaiting(dialect)} END AS waiting,
         CASE WHEN c.start_stamp IS NULL OR u.id IS NULL THEN NULL ELSE leadtap.to_ms(${firstWaiting(dialect)}) END AS "waitingSince"
    FROM page AS c LEFT JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
   ORDER BY c.id`;

const inPage = (column: string): string => `${column} IN (
  SELECT c.id FROM leadtap.connections AS c
   WHERE (CAST($1 AS text) IS NULL OR c.company_id = $1) AND (CAST($2 AS text) IS NULL OR c.user_id = $2)
     AND c.id > $3 AND c.id <= $4)`;

const COUNT_MISSED = `
  SELECT m.connection, m.why, count(*) AS count,
         sum(CASE WHEN m.created_at < leadtap.from_ms($5) THEN 1 ELSE 0 END) AS older
    FROM leadtap.missed AS m WHERE ${inPage('m.connection')} AND ${IS_OWED_MISS} GROUP BY m.connection, m.why`;
/** Why requests are held, the most frequent first, with the errors of one of them. */
const LIST_HELD = `
  SELECT c.id AS connection, r.code AS why, max(r.errors) AS errors, sum(r.times) AS requests FROM leadtap.connections AS c
    JOIN leadtap.refused_leads AS r ON r.company_id = c.company_id AND r.user_id = c.user_id
    LEFT JOIN leadtap.issued_tokens AS t ON t.user_id = r.user_id AND t.id = r.token_id
   WHERE ${inPage('c.id')} AND c.kind = 'send' AND c.key = ${KEY_OF_HELD}
   GROUP BY c.id, r.code ORDER BY c.id, 4 DESC`;
const LIST_LOST = `
  SELECT o.connection, o.why, o.requests, leadtap.to_ms(o.first_at) AS "firstAt", leadtap.to_ms(o.last_at) AS "lastAt"
    FROM leadtap.lost_requests AS o WHERE ${inPage('o.connection')} ORDER BY o.connection, o.last_at DESC`;
/**
 * The values: the page, the first hour that is counted, and the first one of the bar. Each hour is a text, because 24 rows for each
 * connection would cost more than all else. Of a way in, all hours: for its longest pause.
 */
const SUM_HOURS = `
  SELECT h.connection, sum(h.leads) AS leads, sum(h.updated) AS updated,
         string_agg(CASE WHEN h.hour >= $6 OR c.kind = 'send' THEN h.hour || ' ' || h.leads || ' ' || h.failed END, ',') AS hours
    FROM leadtap.activity_hours AS h JOIN leadtap.connections AS c ON c.id = h.connection
   WHERE ${inPage('h.connection')} AND h.hour >= $5 GROUP BY h.connection`;

interface HoursRow {
  readonly connection: string;
  readonly leads: number;
  readonly updated: number;
  readonly hours: string | null;
}

const parseHours = (text: string | null): HourCount[] =>
  (text?.split(',') ?? []).map((entry) => {
    const [hour = 0, leads = 0, failed = 0] = entry.split(' ').map(Number);
    return { hour, leads, failed };
  });

/** The longest time between two hours with leads. Null: it has added too few leads to say. */
function longestPauseOf(hours: readonly HourCount[]): number | null {
  const withLeads = hours.filter(({ leads }) => leads > 0).sort((a, b) => a.hour - b.hour);
  if (withLeads.reduce((sum, { leads }) => sum + leads, 0) < MIN_LEADS_FOR_PAUSE) return null;
  const pauses = withLeads.map(({ hour }, index) => hour - (withLeads[index - 1]?.hour ?? hour));
  const longest = Math.max(...pauses);
  return longest > 0 ? longest * HOUR_MS : null;
}

interface ListedRow extends StoredConnection {
  readonly lastStamp: number | null;
  readonly currentUser: string | null;
  readonly userCompany: string;
  readonly plan: string;
  readonly accessLevel: PollingUser['accessLevel'];
  readonly branchId: string | null;
  readonly departmentId: string | null;
  readonly tokens: number;
  readonly acceptedTokens: number;
  readonly oldKeyUsedAt: number | null;
  readonly keysUntil: number | null;
  readonly hooks: number;
  readonly acceptedHooks: number;
  readonly url: string | null;
  readonly nextTryAt: number | null;
  readonly webhookFailingSince: number | null;
  readonly waiting: number | null;
  readonly waitingSince: number | null;
}

interface HeldRow {
  readonly connection: string;
  readonly why: HeldCount['why'];
  /** JSON. */
  readonly errors: string;
  readonly requests: number;
}

const MAX_FIELDS = 20;

function fieldsOf(errors: string): string[] {
  const known: readonly Pick<LeadError, 'field'>[] = JSON.parse(errors);
  return [...new Set(known.flatMap(({ field }) => field ?? []))].slice(0, MAX_FIELDS);
}

export const prepareList = (dialect: Dialect) => ({ list: listSql(dialect) });

const NO_MISSED: Readonly<Record<MissedReason, number>> = {
  passed: 0,
  moved: 0,
  narrowed: 0,
  'not-recorded': 0,
};

const groupBy = <Row extends { readonly connection: string }>(rows: readonly Row[]): Map<string, Row[]> => {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.connection);
    if (group) group.push(row);
    else groups.set(row.connection, [row]);
  }
  return groups;
};

/** Sorts before this text. One between the two has the same start, which no other id has. */
const previousOf = (id: string): string => id.slice(0, -1);

/** One page of facts, sorted by id. */
export function* listFacts(
  sql: ReturnType<typeof prepareList>,
  { companyId, userId, id, after = '', limit, now, since, acceptedKeys }: ConnectionListQuery,
): SqlTask<ConnectionFacts[]> {
  const rows = yield* query<ListedRow>(sql.list, [
    limit,
    companyId ?? null,
    userId ?? null,
    after,
    acceptedKeys,
    id ?? null,
  ]);
  const last = rows.at(-1)?.id;
  if (last === undefined) return [];
  // The page as a range of ids: of one, from itself.
  const page = [companyId ?? null, userId ?? null, id === undefined ? after : previousOf(id), last];
  const firstHour = hourOf(now) - BAR_HOURS + 1;
  const missed = groupBy(
    yield* query<{ connection: string; why: MissedReason; count: number; older: number }>(COUNT_MISSED, [
      ...page,
      since,
    ]),
  );
  const held = groupBy(yield* query<HeldRow>(LIST_HELD, page));
  const lost = groupBy(yield* query<LostCount & { connection: string }>(LIST_LOST, page));
  const sums = groupBy(yield* query<HoursRow>(SUM_HOURS, [...page, hourOf(since), firstHour]));
  return rows.map((row) => {
    const ofRow = missed.get(row.id) ?? [];
    const [sum] = sums.get(row.id) ?? [];
    const hours = parseHours(sum?.hours ?? null);
    const { currentUser, userCompany, plan, accessLevel, branchId, departmentId, lastStamp, ...rest } = row;
    const {
      tokens,
      acceptedTokens,
      oldKeyUsedAt,
      keysUntil,
      hooks,
      acceptedHooks,
      url,
      nextTryAt,
      ...others
    } = rest;
    const { waiting, waitingSince, webhookFailingSince, ...stored } = others;
    const connection = toConnection(stored);
    // Of several webhooks, one that works must not hide another that fails.
    const failing = { failingSince: webhookFailingSince, errors: Math.max(connection.errors, 2) };
    const address = url !== null && URL.canParse(url) ? new URL(url) : null;
    const user = { id: currentUser ?? '', companyId: userCompany, plan, accessLevel, branchId, departmentId };
    // Without spreads: in Node.js 20, they take longer than the statements.
    return {
      connection: webhookFailingSince === null ? connection : Object.assign(connection, failing),
      user: currentUser === null ? undefined : user,
      lastStamp: lastStamp ?? 0,
      isKeyAccepted: hooks > 0 ? acceptedHooks > 0 : tokens === 0 || acceptedTokens > 0,
      hasKeys: tokens + hooks > 0,
      oldKeyUsedAt,
      keysUntil,
      host: address?.host ?? null,
      origin: address?.origin ?? null,
      stoppedBy: null,
      nextTryAt,
      waiting: waiting ?? 0,
      waitingSince,
      missed: Object.assign(
        {},
        NO_MISSED,
        Object.fromEntries(ofRow.map(({ why, count }) => [why, Number(count)])),
      ),
      olderOwed: ofRow.reduce((older, one) => older + Number(one.older), 0),
      leads: Number(sum?.leads ?? 0),
      updated: Number(sum?.updated ?? 0),
      held: (held.get(row.id) ?? []).reduce((sum, { requests }) => sum + Number(requests), 0),
      heldWhy: (held.get(row.id) ?? []).map(({ why, errors }) => ({ why, fields: fieldsOf(errors) })),
      lost: lost.get(row.id) ?? [],
      hours: hours.filter(({ hour }) => hour >= firstHour),
      longestPauseMs: row.kind === 'send' ? longestPauseOf(hours) : null,
    };
  });
}
