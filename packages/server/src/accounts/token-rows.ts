/** Tables with a row for each token, in which is stored what was observed of it: consumers. */
import {
  type ColumnType,
  type Dialect,
  putEachSql,
  query,
  queryInChunks,
  type RowStatement,
  type SqlTask,
  selectFields,
  type Table,
} from '../sql/sql.ts';
import { MAX_TOKENS_PER_USER, type TokenKey, tokenKeyText } from './token-key.ts';

const KEY_TYPES: Record<keyof TokenKey, ColumnType> = { userId: 'text', tokenId: 'text' };

/** Of an alias of such a table. */
export const isIssued = (alias: string): string =>
  `EXISTS (SELECT 1 FROM leadtap.issued_tokens AS i WHERE i.id = ${alias}.token_id)`;
export const isRevoked = (alias: string): string =>
  `EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = ${alias}.token_id)`;

export interface TokenRowStatements {
  readonly put: RowStatement;
  readonly find: RowStatement;
  readonly findIssued: string;
  readonly count: string;
}

export const prepareTokenRows = <Stored>(dialect: Dialect, table: Table<Stored>): TokenRowStatements => ({
  put: putEachSql(dialect, table),
  find: {
    sql: `
      SELECT ${selectFields(table.types, 't')} FROM ${dialect.eachRow(KEY_TYPES)} AS k
        JOIN leadtap.${table.name} AS t ON t.user_id = k."userId" AND t.token_id = coalesce(k."tokenId", '')`,
    fields: Object.keys(KEY_TYPES),
  },
  findIssued: `
    SELECT k."userId", k."tokenId" FROM ${dialect.rows('$1', KEY_TYPES)} AS k
      JOIN leadtap.issued_tokens AS i ON i.id = k."tokenId" AND i.user_id = k."userId"`,
  count: `
    SELECT user_id AS "userId", count(*) AS count FROM leadtap.${table.name}
     WHERE ${dialect.isIn('user_id', '$1')} AND token_id <> '' GROUP BY user_id`,
});

/** What was observed of a token since the last write. */
export interface TokenSummary extends TokenKey {
  /** It is stored only if the token was issued here for this user. */
  readonly mustBeIssued?: boolean | undefined;
}

export interface MergedRows<Row> {
  /** The key that each summary is to be stored under. */
  readonly keys: readonly TokenKey[];
  readonly stored: ReadonlyMap<string, Row>;
  /** By `tokenKeyText`. */
  readonly changed: Map<string, Row>;
}

/**
 * Merges summaries into the rows of their tokens, in their order, and writes nothing. A token that would be one more than
 * `MAX_TOKENS_PER_USER` counts as a token without an id. Call it under a lock, so that no other instance changes the rows meanwhile.
 */
export function* mergeTokenRows<Stored extends TokenKey, Row, Summary extends TokenSummary>(
  sql: TokenRowStatements,
  summaries: readonly Summary[],
  toRow: (stored: Stored) => Row,
  merge: (row: Row | undefined, summary: Summary) => Row,
): SqlTask<MergedRows<Row>> {
  const stored = yield* findRows(sql, summaries, toRow);
  const rows = new Map(stored);
  const mustBeIssued = summaries.filter((summary) => summary.mustBeIssued);
  const issued = yield* queryInChunks<TokenKey>(sql.findIssued, mustBeIssued.map(toKey));
  const issuedKeys = new Set(issued.map(tokenKeyText));
  const isNew = (key: TokenKey): boolean => key.tokenId !== null && !rows.has(tokenKeyText(key));
  const userIds = [...new Set(summaries.filter(isNew).map(({ userId }) => userId))];
  const counts = yield* countRows(sql, userIds);
  const withoutId = userIds.map((userId) => ({ userId, tokenId: null }));
  for (const [key, row] of yield* findRows(sql, withoutId, toRow)) rows.set(key, row);
  const changed = new Map<string, Row>();
  const keys = summaries.map((summary) => {
    const { userId } = summary;
    if (summary.mustBeIssued && !issuedKeys.has(tokenKeyText(summary))) return toKey(summary);
    const count = counts.get(userId) ?? 0;
    const tokenId = isNew(summary) && count >= MAX_TOKENS_PER_USER ? null : summary.tokenId;
    if (isNew({ userId, tokenId })) counts.set(userId, count + 1);
    const key = tokenKeyText({ userId, tokenId });
    const row = merge(rows.get(key), tokenId === summary.tokenId ? summary : { ...summary, tokenId });
    rows.set(key, row);
    changed.set(key, row);
    return { userId, tokenId };
  });
  return { keys, stored, changed };
}

const toKey = ({ userId, tokenId }: TokenKey): TokenKey => ({ userId, tokenId });

function* findRows<Stored extends TokenKey, Row>(
  sql: TokenRowStatements,
  keys: readonly TokenKey[],
  toRow: (stored: Stored) => Row,
): SqlTask<Map<string, Row>> {
  const rows = yield* queryInChunks<Stored>(sql.find, keys.map(toKey));
  return new Map(rows.map((row) => [tokenKeyText(row), toRow(row)]));
}

function* countRows(sql: TokenRowStatements, userIds: readonly string[]): SqlTask<Map<string, number>> {
  if (userIds.length === 0) return new Map();
  const rows = yield* query<{ userId: string; count: number }>(sql.count, [userIds]);
  return new Map(rows.map(({ userId, count }) => [userId, count]));
}
