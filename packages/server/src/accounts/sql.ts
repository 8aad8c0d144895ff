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
import { createOrganisationMethods, USERS } from './organisation-sql.ts';
import type { IssuedToken, User } from './records.ts';
import type { AccountCounts, AccountStore, ListedToken, UpdateUserOutcome } from './store.ts';

interface StoredToken extends Omit<IssuedToken, 'scopes' | 'keyId' | 'settings'> {
  /** As the claim `scope` has them: separated by spaces. */
  readonly scope: string;
  readonly keyId: string | null;
  /** JSON. */
  readonly settings: string;
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
    settings: 'text',
  },
};

const toStoredToken = ({ scopes, keyId, settings = {}, ...token }: IssuedToken): StoredToken => ({
  ...token,
  scope: scopes.join(' '),
  keyId: keyId ?? null,
  settings: JSON.stringify(settings),
});

const toToken = <Row extends StoredToken>({ scope, keyId, settings, ...token }: Row) => {
  const known: NonNullable<IssuedToken['settings']> = JSON.parse(settings);
  return { ...token, scopes: scope.split(' '), ...(keyId !== null && { keyId }), settings: known };
};

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
const IS_REVOKED = 'EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = t.id)';
const FIND_TOKENS = `
  SELECT ${TOKEN_FIELDS} FROM leadtap.issued_tokens AS t
   WHERE (t.id = $1 OR t.name = $1 OR EXISTS (
     SELECT 1 FROM leadtap.connections AS c WHERE c.id = $1 AND c.user_id = t.user_id AND (
       c.kind <> 'webhook' AND (c.key = 'n:' || t.name OR c.key = 't:' || t.id)
       OR c.kind = 'webhook' AND t.id IN (SELECT h.token_id FROM leadtap.hooks AS h WHERE h.connection_id = c.id))))
     AND NOT ${IS_REVOKED} ORDER BY t.issued_at, t.id`;
const REPLACE_TOKEN = 'UPDATE leadtap.issued_tokens SET replaced_by = $2, name = $3 WHERE id = $1';
/** A token without a name is a connection of its own, which is called as it was. */
const NAME_CONNECTION = `
  UPDATE leadtap.connections SET key = 'n:' || $2, name = $2 WHERE user_id = $3 AND key = 't:' || $1`;
const MOVE_HOOKS = `
  UPDATE leadtap.hooks SET token_id = $2, token_expires_at = leadtap.from_ms($3), key_id = $4 WHERE token_id = $1`;
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

    async findTokens(idOrName) {
      if (!isStorable(idOrName)) return [];
      return (await read(() => query<StoredToken>(FIND_TOKENS, [idOrName]))).map(toToken);
    },

    renewTokens: (oldIds, token) =>
      write(function* () {
        const { id, userId, name, expiresAt, keyId } = token;
        yield* queryInChunks(sql.addTokens, [toStoredToken(token)]);
        for (const old of oldIds) {
          yield* query(REPLACE_TOKEN, [old, id, name]);
          yield* query(NAME_CONNECTION, [old, name, userId]);
          yield* query(MOVE_HOOKS, [old, id, expiresAt, keyId ?? null]);
        }
      }),

    revokeToken: (tokenId) =>
      write(function* () {
        const now = yield* readNow();
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
