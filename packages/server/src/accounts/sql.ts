/** Users and tokens in a database. */

import {
  type Dialect,
  insertSql,
  isStorable,
  putSql,
  query,
  queryInChunks,
  readNow,
  type SqlDatabase,
  type SqlTask,
  selectFields,
  type Table,
} from '../sql/sql.ts';
import { endConsumersOfUser, endHooksOfToken } from './ended-consumers.ts';
import { createOrganisationMethods, USERS } from './organisation-sql.ts';
import type { IssuedToken, User } from './records.ts';
import type { AccountCounts, AccountStore, ListedToken, UpdateUserOutcome } from './store.ts';

interface StoredToken extends Omit<IssuedToken, 'scopes' | 'keyId'> {
  /** As the claim `scope` has them: separated by spaces. */
  readonly scope: string;
  readonly keyId: string | null;
}

const TOKENS: Table<StoredToken> = {
  name: 'issued_tokens',
  key: ['id'],
  types: {
    id: 'text',
    userId: 'text',
    name: 'text',
    issuedAt: 'time',
    expiresAt: 'time',
    scope: 'text',
    keyId: 'text',
  },
};

const toStoredToken = ({ scopes, keyId, ...token }: IssuedToken): StoredToken => {
  return { ...token, scope: scopes.join(' '), keyId: keyId ?? null };
};

const toToken = <Row extends StoredToken>({ scope, keyId, ...token }: Row) => ({
  ...token,
  scopes: scope.split(' '),
  ...(keyId !== null && { keyId }),
});

const FIND_USER = `SELECT ${selectFields(USERS.types, 'u')} FROM leadtap.users AS u WHERE u.id = $1`;
const LIST_USERS = `
  SELECT ${selectFields(USERS.types, 'u')} FROM leadtap.users AS u WHERE u.id > $1 ORDER BY u.id LIMIT $2`;
const REMOVE_USER = 'DELETE FROM leadtap.users WHERE id = $1 RETURNING 1';
/** Their bodies are of no more use: they would be accepted with the place of the user. */
const REMOVE_REFUSED_LEADS = `
  DELETE FROM leadtap.refused_leads
   WHERE user_id = $1 AND company_id = (SELECT u.company_id FROM leadtap.users AS u WHERE u.id = $1)`;
/** The values: company, branch, department. */
const FIND_PLACES = `SELECT
  EXISTS (SELECT 1 FROM leadtap.branches WHERE company_id = $1 AND id = $2) AS "hasBranch",
  (SELECT branch_id FROM leadtap.departments WHERE company_id = $1 AND id = $3) AS "branchOfDepartment"`;
const COUNT_ACCOUNTS = `
  SELECT (SELECT count(*) FROM leadtap.companies) AS companies, (SELECT count(*) FROM leadtap.users) AS users`;

const TOKEN_FIELDS = selectFields(TOKENS.types, 't');
const FIND_TOKEN = `SELECT ${TOKEN_FIELDS} FROM leadtap.issued_tokens AS t WHERE t.id = $1`;
const LIST_TOKENS = `
  SELECT ${TOKEN_FIELDS}, leadtap.to_ms(r.revoked_at) AS "revokedAt"
    FROM leadtap.issued_tokens AS t LEFT JOIN leadtap.revoked_tokens AS r ON r.token_id = t.id
   WHERE t.user_id = $1 ORDER BY t.issued_at, t.id`;
const REVOKE_TOKENS_OF_USER = `
  INSERT INTO leadtap.revoked_tokens (token_id, revoked_at)
  SELECT t.id, leadtap.from_ms($2) FROM leadtap.issued_tokens AS t WHERE t.user_id = $1
  ON CONFLICT DO NOTHING`;
const REVOKE_TOKEN = `
  INSERT INTO leadtap.revoked_tokens (token_id, revoked_at) VALUES ($1, leadtap.from_ms($2))
  ON CONFLICT DO NOTHING RETURNING 1`;

function* findUser(sql: string, userId: string): SqlTask<User | undefined> {
  if (!isStorable(userId)) return undefined;
  const [user] = yield* query<User>(sql, [userId]);
  return user;
}

type PlaceProblem = Extract<UpdateUserOutcome, { kind: 'place-missing' | 'place-unknown' }>;

/** The place of the access level must be given and exist. Places below that level are cleared. */
function* placeUser(user: User): SqlTask<User | PlaceProblem> {
  const { companyId, accessLevel, branchId, departmentId } = user;
  if (accessLevel === 'COMPANY') return { ...user, branchId: null, departmentId: null };
  const [found] = yield* query<{
    hasBranch: boolean | number;
    branchOfDepartment: string | null;
  }>(FIND_PLACES, [companyId, branchId, departmentId]);
  if (accessLevel === 'BRANCH') {
    if (branchId === null) return { kind: 'place-missing', field: 'branchId' };
    if (!found?.hasBranch) return { kind: 'place-unknown', field: 'branchId' };
    return { ...user, departmentId: null };
  }
  if (departmentId === null) return { kind: 'place-missing', field: 'departmentId' };
  const branchOfDepartment = found?.branchOfDepartment ?? null;
  if (branchOfDepartment === null) return { kind: 'place-unknown', field: 'departmentId' };
  return { ...user, branchId: branchOfDepartment };
}

/** What ends in the same transaction. Of a revoked token: after it. Of a user: before. */
export interface AccountEnds {
  tokenRevoked(tokenId: string): SqlTask<void>;
  userRemoved(userId: string): SqlTask<void>;
}

const prepareSql = (dialect: Dialect) => ({
  putUser: putSql(dialect, USERS),
  addTokens: insertSql(dialect, TOKENS),
});

export function createAccountStore(database: SqlDatabase, ends: AccountEnds): AccountStore {
  const { dialect, read, write } = database;
  const sql = prepareSql(dialect);
  return {
    ...createOrganisationMethods(database),

    findUser: (userId) => read(() => findUser(FIND_USER, userId)),

    /** Every id sorts after the empty string. */
    listUsers: (afterId, limit) => read(() => query<User>(LIST_USERS, [afterId ?? '', limit])),

    updateUser: (userId, changes) =>
      write(function* () {
        const existing = yield* findUser(`${FIND_USER} FOR UPDATE`, userId);
        if (!existing) return { kind: 'no-such-user' };
        const changed = { ...existing, ...changes };
        const placed = yield* placeUser(changed);
        if ('kind' in placed) return placed;
        yield* query(sql.putUser, [JSON.stringify([placed])]);
        return { kind: 'updated', user: placed };
      }),

    async removeUser(userId) {
      if (!isStorable(userId)) return false;
      return write(function* () {
        yield* query(REMOVE_REFUSED_LEADS, [userId]);
        const now = yield* readNow();
        yield* endConsumersOfUser(userId, now);
        yield* ends.userRemoved(userId);
        const removed = yield* query(REMOVE_USER, [userId]);
        // Not if there is no such user: tokens may be issued for one who is added later.
        if (removed.length > 0) yield* query(REVOKE_TOKENS_OF_USER, [userId, now]);
        return removed.length > 0;
      });
    },

    async recordTokens(tokens) {
      await write(() => queryInChunks(sql.addTokens, tokens.map(toStoredToken)));
    },

    async listTokens(userId) {
      if (!isStorable(userId)) return [];
      type Row = StoredToken & Pick<ListedToken, 'revokedAt'>;
      const rows = await read(() => query<Row>(LIST_TOKENS, [userId]));
      return rows.map(toToken);
    },

    async findToken(tokenId) {
      if (!isStorable(tokenId)) return undefined;
      const [row] = await read(() => query<StoredToken>(FIND_TOKEN, [tokenId]));
      return row && toToken(row);
    },

    revokeToken: (tokenId) =>
      write(function* () {
        const now = yield* readNow();
        yield* endHooksOfToken(tokenId, now);
        const revoked = yield* query(REVOKE_TOKEN, [tokenId, now]);
        yield* ends.tokenRevoked(tokenId);
        return revoked.length > 0;
      }),

    /** The log line at the start does not wait long for it. */
    async countAccounts() {
      const [counts] = await read(() => query<AccountCounts>(COUNT_ACCOUNTS), { timeout: 'short' });
      return counts ?? { companies: 0, users: 0 };
    },
  };
}
