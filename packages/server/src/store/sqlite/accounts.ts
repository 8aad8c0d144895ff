/** Users and issued tokens. */
import { placeUser } from '../placement.ts';
import type { IssuedToken, User } from '../records.ts';
import type { AccountCounts, ListedToken, UpdateUserOutcome, UserChanges } from '../store.ts';
import type { Connection } from './connection.ts';

/** A row of the driver has no prototype, so a strict comparison with an object literal needs a copy of it. */
export const copyRow = <Row extends object>(row: Row | undefined): Row | undefined => row && { ...row };

const SELECT_USERS = `SELECT id, company_id AS companyId, email, name, plan, access_level AS accessLevel,
  branch_id AS branchId, department_id AS departmentId FROM users`;

/** Like `copyRow`, but 4 µs faster: the account of every poll that is not cached passes here. */
const toUser = (row: User): User => {
  const { id, companyId, email, name, plan, accessLevel, branchId, departmentId } = row;
  return { id, companyId, email, name, plan, accessLevel, branchId, departmentId };
};

export type Users = ReturnType<typeof prepareUsers>;

export function prepareUsers(connection: Connection) {
  const findUser = connection.prepare<User>(`${SELECT_USERS} WHERE id = ?`);
  const listUsers = connection.prepare<User>(`${SELECT_USERS} WHERE id > ? ORDER BY id LIMIT ?`);
  const putUser = connection.prepare(
    `INSERT INTO users (id, company_id, email, name, plan, access_level, branch_id, department_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET email = excluded.email, name = excluded.name, plan = excluded.plan,
       access_level = excluded.access_level, branch_id = excluded.branch_id,
       department_id = excluded.department_id`,
  );
  const removeUser = connection.prepare('DELETE FROM users WHERE id = ?');
  const findBranch = connection.prepare('SELECT 1 FROM branches WHERE company_id = ? AND id = ?');
  const findDepartment = connection.prepare<{ branch_id: string }>(
    'SELECT branch_id FROM departments WHERE company_id = ? AND id = ?',
  );
  const count = connection.prepare<AccountCounts>(
    'SELECT (SELECT count(*) FROM companies) AS companies, (SELECT count(*) FROM users) AS users',
  );

  /** A driver may cut a text at its first NUL, so the id of the row is compared, too. */
  function find(userId: string): User | undefined {
    const row = findUser.get(userId);
    return row?.id === userId ? toUser(row) : undefined;
  }

  function put(user: User): void {
    const { id, companyId, email, name, plan, accessLevel, branchId, departmentId } = user;
    putUser.run(id, companyId, email, name, plan, accessLevel, branchId, departmentId);
  }

  function update(userId: string, changes: UserChanges): UpdateUserOutcome {
    const existing = find(userId);
    if (!existing) return { kind: 'no-such-user' };
    const changed = { ...existing, ...changes };
    const placed = placeUser(changed, {
      branchExists: findBranch.get(changed.companyId, changed.branchId) !== undefined,
      branchOfDepartment: findDepartment.get(changed.companyId, changed.departmentId)?.branch_id,
    });
    if ('kind' in placed) return placed;
    put(placed);
    return { kind: 'updated', user: placed };
  }

  return {
    find,
    put,
    update,
    /** Every id sorts after the empty string. */
    list: (afterId: string | undefined, limit: number): User[] =>
      listUsers.all(afterId ?? '', limit).map(toUser),
    remove: (userId: string): boolean => removeUser.run(userId) > 0,
    countAccounts: (): AccountCounts => count.get() ?? { companies: 0, users: 0 },
  };
}

const TOKEN_COLUMNS = 't.id, t.user_id AS userId, t.name, t.issued_at AS issuedAt, t.expires_at AS expiresAt';

export function prepareTokens(connection: Connection) {
  const insert = connection.prepare(
    'INSERT INTO issued_tokens (id, user_id, name, issued_at, expires_at) VALUES (?, ?, ?, ?, ?)',
  );
  const find = connection.prepare<IssuedToken>(
    `SELECT ${TOKEN_COLUMNS} FROM issued_tokens AS t WHERE t.id = ?`,
  );
  const list = connection.prepare<ListedToken>(
    `SELECT ${TOKEN_COLUMNS}, r.revoked_at AS revokedAt
       FROM issued_tokens AS t LEFT JOIN revoked_tokens AS r ON r.token_id = t.id
      WHERE t.user_id = ? ORDER BY t.issued_at, t.id`,
  );
  const revoke = connection.prepare(
    'INSERT INTO revoked_tokens (token_id, revoked_at) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const findRevoked = connection.prepare('SELECT 1 FROM revoked_tokens WHERE token_id = ?');
  return {
    record(tokens: readonly IssuedToken[]): void {
      for (const { id, userId, name, issuedAt, expiresAt } of tokens)
        insert.run(id, userId, name, issuedAt, expiresAt);
    },
    find: (tokenId: string): IssuedToken | undefined => copyRow(find.get(tokenId)),
    list: (userId: string): ListedToken[] => list.all(userId).map((row) => ({ ...row })),
    revoke: (tokenId: string, now: number): boolean => revoke.run(tokenId, now) > 0,
    isRevoked: (tokenId: string): boolean => findRevoked.get(tokenId) !== undefined,
  };
}
