/**
 * Leads that were moved to another branch or department. A trigger of the database records them in `moved_leads`, whichever program
 * moves them. A consumer that sees only that place may have passed such a lead before: it has the lead only if it got it since. The same
 * goes for history that was imported after its first poll.
 */
import { isInScope, type Place, type PollingUser, scopeOf, unionVisibleLeads } from '../leads/access.ts';
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
import { includesScope, parseScopes, placeOf, scopesOf } from './scopes.ts';
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
    ...{ first: 'time', last: 'time', firstPollAt: 'time' },
  });
  const movedInPage = PLACES.map(
    ({ level, column, index }) => `
      SELECT m.created_at AS value FROM leadtap.moved_leads AS m ${indexedBy(index)}
       WHERE m.company_id = p."companyId" AND m.${column} = p."placeId" AND p.level = '${level}'
         AND m.created_at >= p.first AND m.created_at <= p.last`,
  ).join(' UNION ALL ');
  const historyInPage = `
      SELECT l.created_at AS value FROM leadtap.leads AS l ${indexedBy('leads_of_history')}
       WHERE l.company_id = p."companyId" AND l.created_at <> l.automation_created_at
         AND l.created_at >= p.first AND l.created_at <= p.last AND l.automation_created_at >= p."firstPollAt"`;
  const positions = rows('$1', {
    ...{ number: 'integer', userId: 'text', tokenId: 'text', after: 'time', through: 'time' },
    ...{ level: 'text', companyId: 'text', placeId: 'text' },
  });
  const missed = PLACES.map(
    ({ level, column, index }) => `
      SELECT m.created_at AS value FROM (
        SELECT n.company_id, n.created_at FROM leadtap.moved_leads AS n ${indexedBy(index)}
         WHERE n.company_id = p."companyId" AND n.${column} = p."placeId" AND p.level = '${level}'
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
    ofPages: `
      SELECT p.number, leadtap.to_ms(k.value) AS "createdAt"
        FROM ${pages} AS p ${joinValues(`${movedInPage} UNION ALL ${historyInPage}`, 'k')}`,
    addReceived: `${insertSql(dialect, RECEIVED_LEADS)} ON CONFLICT DO NOTHING`,
    /** Leads that a webhook has accepted, each in a request of its own. */
    addAccepted: `
      INSERT INTO leadtap.received_leads (company_id, created_at, user_id, token_id)
        SELECT m.company_id, m.created_at, r."userId", r."tokenId" FROM ${rows('$1', RECEIVED_LEADS.types)} AS r
          JOIN leadtap.moved_leads AS m ON m.company_id = r."companyId" AND m.created_at = r."createdAt"
         UNION
        SELECT l.company_id, l.created_at, r."userId", r."tokenId" FROM ${rows('$1', RECEIVED_LEADS.types)} AS r
          ${dialect.joinEach('leads', 'l', 'l.company_id = r."companyId" AND l.created_at = r."createdAt"')}
          JOIN leadtap.hooks AS h ON h.id = r."tokenId" AND h.created_at <= l.automation_created_at
         WHERE l.created_at <> l.automation_created_at ON CONFLICT DO NOTHING`,
    findReceivers: `
      SELECT r.user_id AS "userId", nullif(r.token_id, '') AS "tokenId" FROM leadtap.received_leads AS r
       WHERE r.company_id = $1 AND r.created_at = leadtap.from_ms($2)`,
    /** The values: company, user, how many leads of history are examined: the newest ones. */
    findHistory: `
      SELECT r.user_id AS "userId", nullif(r.token_id, '') AS "tokenId", leadtap.to_ms(r.created_at) AS "createdAt"
        FROM (SELECT l.company_id, l.created_at FROM leadtap.leads AS l ${indexedBy('leads_of_history')}
               WHERE l.company_id = $1 AND l.created_at <> l.automation_created_at
               ORDER BY l.created_at DESC LIMIT $3) AS l
        JOIN leadtap.received_leads AS r
          ON r.company_id = l.company_id AND r.created_at = l.created_at AND r.user_id = $2`,
    findMissed: `
      SELECT p.number, leadtap.to_ms(k.value) AS "createdAt"
        FROM ${positions} AS p ${joinValues(missed, 'k')}`,
    findUsers: `
      SELECT u.id, u.company_id AS "companyId", u.access_level AS "accessLevel", u.branch_id AS "branchId",
             u.department_id AS "departmentId"
        FROM leadtap.users AS u WHERE ${dialect.isIn('u.id', '$1')}`,
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
  sent: readonly (SentPage & { readonly consumer: ConsumerKey; readonly firstPollAt: number | null })[],
): SqlTask<void> {
  if (sent.length === 0) return;
  const pages = sent.map(({ scope, createdAt, firstPollAt }, number) => ({
    ...{ number, level: scope.level, companyId: scope.companyId },
    placeId: placeOf(scope),
    ...{ first: Math.min(...createdAt), last: Math.max(...createdAt), firstPollAt },
  }));
  const found = yield* queryInChunks<NumberedLead>(sql.ofPages, pages);
  const received = found.flatMap(({ number, createdAt }): ReceivedLead[] => {
    const page = sent[number];
    if (!page?.createdAt.includes(createdAt)) return [];
    return [{ companyId: page.scope.companyId, createdAt, ...page.consumer }];
  });
  if (received.length > 0) yield* queryInChunks(sql.addReceived, received);
}

/** Moved leads of each consumer that are examined at least. */
const MIN_EXAMINED = 100;

/** Leads up to a position of a consumer that were not sent to it. The newest first. */
export interface MissedLeads {
  /** Moved since to where it could see them. */
  readonly moved: readonly number[];
  /** In places that its user may see now, and that it could not see then. */
  readonly unseen: readonly number[];
}

export interface ScopedQuery extends MissedQuery {
  /** What its user may see now. Undefined: nothing, or the user was removed. */
  readonly now: LeadScope | undefined;
}

/** The leads of a query that were sent in this scope. */
interface Part extends ScopedQuery {
  /** In the list of queries. */
  readonly index: number;
  /** None: it is not known. */
  readonly sentScopes: readonly LeadScope[];
}

function partsOf(query: ScopedQuery, index: number): Part[] {
  const { scopes, now, after, through } = query;
  const recorded = parseScopes(scopes);
  const all = recorded.length > 0 || !now ? recorded : [{ after: null, scope: now }];
  return all
    .map((part, number) => ({
      ...{ ...query, index, sentScopes: scopesOf(part) },
      after: part.after === null ? after : Math.max(part.after, after ?? part.after),
      through: Math.min(through, all[number + 1]?.after ?? through),
    }))
    .filter((part) => part.after === null || part.after < part.through);
}

/** In the order of the queries. Most of them need no statement: consumers of the whole company miss none. */
export function* findMissed(
  sql: Statements,
  queries: readonly ScopedQuery[],
  limit: number,
): SqlTask<readonly MissedLeads[]> {
  const found = queries.map(() => ({ moved: [] as number[], unseen: [] as number[] }));
  const parts = queries.flatMap(partsOf);
  const examined = Math.max(MIN_EXAMINED, limit);
  const rowsOf = (some: readonly (Part & { readonly scope?: LeadScope })[]): string =>
    JSON.stringify(
      some.map(({ userId, tokenId, after, through, scope }, number) => ({
        ...{ number, userId, tokenId, after: after ?? BEFORE_ALL_MS, through },
        ...(scope && { level: scope.level, companyId: scope.companyId, placeId: placeOf(scope) }),
      })),
    );
  const places = parts.flatMap((part) =>
    part.sentScopes.filter(({ level }) => level !== 'COMPANY').map((scope) => ({ ...part, scope })),
  );
  if (places.length > 0)
    for (const { number, createdAt } of yield* query<NumberedLead>(sql.findMissed, [
      rowsOf(places),
      examined,
    ]))
      found[places[number]?.index ?? -1]?.moved.push(createdAt);
  const widened = parts.filter(
    ({ sentScopes, now }) => now && !sentScopes.some((scope) => includesScope(scope, now)),
  );
  if (widened.length > 0)
    for (const lead of yield* query<NumberedLead & Place>(sql.findVisible, [rowsOf(widened), examined])) {
      const { sentScopes = [], index = -1 } = widened[lead.number] ?? {};
      if (!sentScopes.some((scope) => isInScope(scope, lead))) found[index]?.unseen.push(lead.createdAt);
    }
  const newestFirst = (leads: readonly number[]) => [...leads].sort((a, b) => b - a);
  return found.map(({ moved, unseen }) => ({ moved: newestFirst(moved), unseen: newestFirst(unseen) }));
}

type FoundUser = Omit<PollingUser, 'plan'>;

/** The same, with what the users may see now. */
export function* findMissedOfUsers(
  sql: Statements,
  queries: readonly MissedQuery[],
  limit: number,
): SqlTask<readonly (readonly number[])[]> {
  if (queries.length === 0) return [];
  const ids = [...new Set(queries.map(({ userId }) => userId))];
  const users = new Map((yield* query<FoundUser>(sql.findUsers, [ids])).map((user) => [user.id, user]));
  const scoped = queries.map((one): ScopedQuery => {
    const user = users.get(one.userId);
    return { ...one, now: user && scopeOf(user) };
  });
  const missed = yield* findMissed(sql, scoped, limit);
  return missed.map(({ moved, unseen }) => [...new Set([...moved, ...unseen])].sort((a, b) => b - a));
}
