/** Users and issued tokens. */

import type { IssuedToken, User } from '../../accounts/records.ts';
import type {
  Account,
  AccountCounts,
  AddUserOutcome,
  Bearer,
  ListedToken,
  UpdateUserOutcome,
  UserChanges,
} from '../../accounts/store.ts';
import { type Places, placeUser } from '../../leads/placement.ts';
import type { Connection } from './connection.ts';

export const SELECT_USERS = `SELECT id, company_id AS companyId, email, name, plan, access_level AS accessLevel,
  branch_id AS branchId, department_id AS departmentId FROM users`;

/** Takes a JSON array of users. `WHERE true` is needed by SQLite's parser before `ON CONFLICT`. */
export const PUT_USERS = `
  INSERT INTO users (id, company_id, email, name, plan, access_level, branch_id, department_id)
  SELECT value ->> 'id', value ->> 'companyId', value ->> 'email', value ->> 'name', value ->> 'plan',
         value ->> 'accessLevel', value ->> 'branchId', value ->> 'departmentId' FROM json_each(?) WHERE true
  ON CONFLICT (id) DO UPDATE SET email = excluded.email, name = excluded.name, plan = excluded.plan,
    access_level = excluded.access_level, branch_id = excluded.branch_id, department_id = excluded.department_id`;

const TOKEN_COLUMNS =
  't.id, t.user_id AS userId, t.name, t.issued_at AS issuedAt, t.expires_at AS expiresAt, t.scope AS scopes, t.key_id AS keyId';

/** Scopes are stored as the claim `scope` has them: separated by spaces. */
type TokenRow<T> = Omit<T, 'scopes' | 'keyId'> & { readonly scopes: string; readonly keyId: string | null };

const toToken = <T>({ keyId, scopes, ...row }: TokenRow<T>) => ({
  ...row,
  scopes: scopes.split(' '),
  ...(keyId !== null && { keyId }),
});

/** A row of the driver has no prototype. This is 4 µs faster than a spread, on the path of every poll that is not cached. */
const toUser = (row: User): User => {
  const { id, companyId, email, name, plan, accessLevel, branchId, departmentId } = row;
  return { id, companyId, email, name, plan, accessLevel, branchId, departmentId };
};

export function prepareAccounts(connection: Connection, places: Places) {
  const userById = connection.prepare<User>(`${SELECT_USERS} WHERE id = ?`);
  const usersAfter = connection.prepare<User>(`${SELECT_USERS} WHERE id > ? ORDER BY id LIMIT ?`);
  const putUsers = connection.prepare(PUT_USERS);
  const deleteUser = connection.prepare('DELETE FROM users WHERE id = ?');
  const counts = connection.prepare<AccountCounts>(
    'SELECT (SELECT count(*) FROM companies) AS companies, (SELECT count(*) FROM users) AS users',
  );
  const insertToken = connection.prepare(
    'INSERT INTO issued_tokens (id, user_id, name, issued_at, expires_at, scope, key_id) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const tokenById = connection.prepare<TokenRow<IssuedToken>>(
    `SELECT ${TOKEN_COLUMNS} FROM issued_tokens AS t WHERE t.id = ?`,
  );
  const tokensOfUser = connection.prepare<TokenRow<ListedToken>>(
    `SELECT ${TOKEN_COLUMNS}, r.revoked_at AS revokedAt
       FROM issued_tokens AS t LEFT JOIN revoked_tokens AS r ON r.token_id = t.id
      WHERE t.user_id = ? ORDER BY t.issued_at, t.id`,
  );
  const tokenIdsAfter = connection.prepare<{ id: string }>(
    'SELECT id FROM issued_tokens WHERE id > ? ORDER BY id LIMIT ?',
  );
  // A trigger of revoked_tokens logs `token` (migrations/0001_schema.sql).
  const insertRevocation = connection.prepare(
    'INSERT INTO revoked_tokens (token_id, revoked_at) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const revocation = connection.prepare('SELECT 1 FROM revoked_tokens WHERE token_id = ?');

  /** A driver may cut a text at its first NUL, so the id of the row is compared, too. */
  function findUser(userId: string): User | undefined {
    const row = userById.get(userId);
    return row?.id === userId ? toUser(row) : undefined;
  }

  const isTokenRevoked = (tokenId: string): boolean => revocation.get(tokenId) !== undefined;

  return {
    findUser,
    isTokenRevoked,
    findAccount: ({ userId, tokenId }: Bearer): Account => ({
      isRevoked: tokenId !== undefined && isTokenRevoked(tokenId),
      user: findUser(userId),
    }),
    addUser(user: User): AddUserOutcome {
      const existing = findUser(user.id);
      if (existing) return { kind: 'exists', user: existing };
      if (!places.hasCompany(user.companyId)) return { kind: 'no-such-company' };
      const placed = placeUser(user, places);
      if ('kind' in placed) return placed;
      putUsers.run(JSON.stringify([placed]));
      return { kind: 'added', user: placed };
    },
    updateUser(userId: string, changes: UserChanges): UpdateUserOutcome {
      const existing = findUser(userId);
      if (!existing) return { kind: 'no-such-user' };
      const placed = placeUser({ ...existing, ...changes }, places);
      if ('kind' in placed) return placed;
      putUsers.run(JSON.stringify([placed]));
      return { kind: 'updated', user: placed };
    },
    /** Every id sorts after the empty string. */
    listUsers: (afterId: string | undefined, limit: number): User[] =>
      usersAfter.all(afterId ?? '', limit).map(toUser),
    removeUser: (userId: string): boolean => deleteUser.run(userId).changes > 0,
    countAccounts: (): AccountCounts => counts.get() ?? { companies: 0, users: 0 },
    recordTokens(tokens: readonly IssuedToken[]): void {
      for (const { id, userId, name, issuedAt, expiresAt, scopes, keyId = null } of tokens)
        insertToken.run(id, userId, name, issuedAt, expiresAt, scopes.join(' '), keyId);
    },
    findToken(tokenId: string): IssuedToken | undefined {
      const row = tokenById.get(tokenId);
      return row && toToken(row);
    },
    listTokenIds: (after: string, limit: number): string[] =>
      tokenIdsAfter.all(after, limit).map(({ id }) => id),
    listTokens: (userId: string): ListedToken[] => tokensOfUser.all(userId).map(toToken),
    revokeToken: (tokenId: string, now: number): boolean => insertRevocation.run(tokenId, now).changes > 0,
  };
}
