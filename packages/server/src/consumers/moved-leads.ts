/**
 * Leads that were moved to another branch or department. A trigger of the database records them in `moved_leads`, whichever program
 * moves them. A consumer that sees only that place may have passed such a lead before: it has the lead only if it got it since.
 */
import { isInScope, type Place, unionVisibleLeads } from '../leads/access.ts';
import type { LeadScope } from '../leads/record.ts';
import {
  BEFORE_ALL_MS,
  type Dialect,
  insertSql,
  query,
  queryInChunks,
  type SqlTask,
  type Table,
} from '../sql/sql.ts';
import { placeOf } from './scopes.ts';
import type { ConsumerKey, MissedQuery, SentPage } from './store.ts';

interface ReceivedLead {
  readonly companyId: string;
  readonly createdAt: number;
  readonly userId: string;
  readonly tokenId: string | null;
}

/** Written when the lead was in a page that was sent to the consumer, or was accepted by its webhook. It goes with the lead. */
export const RECEIVED_LEADS: Table<ReceivedLead> = {
  name: 'received_leads',
  key: ['company_id', 'created_at', 'user_id', 'token_id'],
  types: { companyId: 'text', createdAt: 'time', userId: 'text', tokenId: 'nullAsEmpty' },
};

interface MovedLead {
  readonly companyId: string;
  readonly createdAt: number;
  readonly branchId: string | null;
  readonly departmentId: string | null;
}

export const MOVED_LEADS: Table<MovedLead> = {
  name: 'moved_leads',
  key: ['company_id', 'created_at'],
  types: { companyId: 'text', createdAt: 'time', branchId: 'text', departmentId: 'text' },
};

const PLACES = [
  { level: 'BRANCH', column: 'branch_id', index: 'moved_leads_by_branch' },
  { level: 'DEPARTMENT', column: 'department_id', index: 'moved_leads_by_department' },
] as const;

export const prepareMovedLeads = (dialect: Dialect) => {
  const { rows, joinValues, indexedBy } = dialect;
  const pages = rows('$1', {
    ...{ number: 'integer', level: 'text', companyId: 'text', placeId: 'text' },
    ...{ first: 'time', last: 'time' },
  });
  const movedInPage = PLACES.map(
    ({ level, column, index }) => `
      SELECT m.created_at AS value FROM leadtap.moved_leads AS m ${indexedBy(index)}
       WHERE m.company_id = p."companyId" AND m.${column} = p."placeId" AND p.level = '${level}'
         AND m.created_at >= p.first AND m.created_at <= p.last`,
  ).join(' UNION ALL ');
  const positions = rows('$1', {
    ...{ number: 'integer', userId: 'text', tokenId: 'text', after: 'time', through: 'time' },
    ...{ level: 'text', placeId: 'text' },
  });
  const missed = PLACES.map(
    ({ level, column, index }) => `
      SELECT m.created_at AS value FROM (
        SELECT n.company_id, n.created_at FROM leadtap.moved_leads AS n ${indexedBy(index)}
         WHERE n.company_id = u.company_id AND n.${column} = coalesce(p."placeId", u.${column})
           AND coalesce(p.level, u.access_level) = '${level}'
           AND n.created_at > p."after" AND n.created_at <= p.through
         ORDER BY n.created_at DESC LIMIT $2) AS m
       WHERE NOT EXISTS (
         SELECT 1 FROM leadtap.received_leads AS r
          WHERE r.company_id = m.company_id AND r.created_at = m.created_at
            AND r.user_id = p."userId" AND r.token_id = coalesce(p."tokenId", ''))`,
  ).join(' UNION ALL ');
  const visible = unionVisibleLeads(
    dialect,
    'u',
    (leads) => `SELECT l.created_at AS value FROM ${leads}
      AND l.created_at > p."after" AND l.created_at <= p.through ORDER BY l.created_at DESC LIMIT $2`,
  );
  return {
    findVisible: `
      SELECT p.number, leadtap.to_ms(l.created_at) AS "createdAt", l.company_id AS "companyId", l.branch_id AS "branchId",
             l.department_id AS "departmentId"
        FROM ${positions} AS p JOIN leadtap.users AS u ON u.id = p."userId" ${joinValues(visible, 'k')}
        ${dialect.joinEach('leads', 'l', 'l.company_id = u.company_id AND l.created_at = k.value')}`,
    movedInPages: `
      SELECT p.number, leadtap.to_ms(k.value) AS "createdAt" FROM ${pages} AS p ${joinValues(movedInPage, 'k')}`,
    addReceived: `${insertSql(dialect, RECEIVED_LEADS)} ON CONFLICT DO NOTHING`,
    /** Leads that a webhook has accepted, each in a request of its own. */
    addAccepted: `
      INSERT INTO leadtap.received_leads (company_id, created_at, user_id, token_id)
        SELECT m.company_id, m.created_at, r."userId", r."tokenId" FROM ${rows('$1', RECEIVED_LEADS.types)} AS r
          JOIN leadtap.moved_leads AS m ON m.company_id = r."companyId" AND m.created_at = r."createdAt"
         WHERE true ON CONFLICT DO NOTHING`,
    findMissed: `
      SELECT p.number, leadtap.to_ms(k.value) AS "createdAt"
        FROM ${positions} AS p JOIN leadtap.users AS u ON u.id = p."userId" ${joinValues(missed, 'k')}`,
  };
};

type Statements = ReturnType<typeof prepareMovedLeads>;

interface NumberedLead {
  readonly number: number;
  readonly createdAt: number;
}

/** What consumers got with these pages. */
export function* recordReceived(
  sql: Statements,
  sent: readonly (SentPage & { readonly consumer: ConsumerKey })[],
): SqlTask<void> {
  if (sent.length === 0) return;
  const pages = sent.map(({ scope, createdAt }, number) => ({
    ...{ number, level: scope.level, companyId: scope.companyId },
    placeId: placeOf(scope),
    ...{ first: Math.min(...createdAt), last: Math.max(...createdAt) },
  }));
  const moved = yield* queryInChunks<NumberedLead>(sql.movedInPages, pages);
  const received = moved.flatMap(({ number, createdAt }): ReceivedLead[] => {
    const page = sent[number];
    if (!page?.createdAt.includes(createdAt)) return [];
    return [{ companyId: page.scope.companyId, createdAt, ...page.consumer }];
  });
  if (received.length > 0) yield* queryInChunks(sql.addReceived, received);
}

/** Moved leads of each consumer that are examined at least. */
const MIN_EXAMINED = 100;

/** In the order of the queries, the newest lead of each first. */
export function* findMissed(
  sql: Statements,
  queries: readonly MissedQuery[],
  limit: number,
): SqlTask<readonly (readonly number[])[]> {
  const found = queries.map((): number[] => []);
  if (queries.length === 0) return found;
  const numbered = queries.map(({ scope, ...one }, number) => ({
    ...{ ...one, number, after: one.after ?? BEFORE_ALL_MS },
    ...{ level: scope?.level ?? null, placeId: scope ? placeOf(scope) : null },
  }));
  const rows = yield* query<NumberedLead>(sql.findMissed, [
    JSON.stringify(numbered),
    Math.max(MIN_EXAMINED, limit),
  ]);
  for (const { number, createdAt } of rows) found[number]?.push(createdAt);
  return found.map((leads) => leads.sort((a, b) => b - a));
}

export interface UnseenQuery extends Omit<MissedQuery, 'scope'> {
  /** Null: it is not known. */
  readonly scope: LeadScope | null;
}

/** The same for leads that the user may see now and that are not in the scope. The newest of each query are examined. */
export function* findUnseen(
  sql: Statements,
  queries: readonly UnseenQuery[],
  limit: number,
): SqlTask<readonly (readonly number[])[]> {
  const found = queries.map((): number[] => []);
  if (queries.length === 0) return found;
  const numbered = queries.map((one, number) => ({ ...one, number, after: one.after ?? BEFORE_ALL_MS }));
  const values = [JSON.stringify(numbered), Math.max(MIN_EXAMINED, limit)];
  for (const lead of yield* query<NumberedLead & Place>(sql.findVisible, values)) {
    const scope = queries[lead.number]?.scope ?? null;
    if (scope === null || !isInScope(scope, lead)) found[lead.number]?.push(lead.createdAt);
  }
  return found;
}
