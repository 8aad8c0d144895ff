/** Users and issued tokens. */
import { placeUser } from '../placement.ts';
import type { AccessLevel, IssuedToken, User } from '../records.ts';
import type { AccountCounts, ListedToken, UpdateUserOutcome, UserChanges } from '../store.ts';
import type { Connection } from './connection.ts';

interface UserRow {
  id: string;
  company_id: string;
  email: string | null;
  name: string | null;
  plan: string;
  access_level: AccessLevel;
  branch_id: string | null;
  department_id: string | null;
}

const USER_COLUMNS = 'id, company_id, email, name, plan, access_level, branch_id, department_id';

const toUser = (row: UserRow): User => ({
  id: row.id,
  companyId: row.company_id,
  email: row.email,
  name: row.name,
  plan: row.plan,
  accessLevel: row.access_level,
  branchId: row.branch_id,
  departmentId: row.department_id,
});

export class Users {
  readonly #find;
  readonly #list;
  readonly #put;
  readonly #remove;
  readonly #branch;
  readonly #department;
  readonly #count;

  constructor(connection: Connection) {
    this.#find = connection.prepare<UserRow>(`SELECT ${USER_COLUMNS} FROM users WHERE id = ?`);
    this.#list = connection.prepare<UserRow>(
      `SELECT ${USER_COLUMNS} FROM users WHERE id > ? ORDER BY id LIMIT ?`,
    );
    this.#put = connection.prepare(
      `INSERT INTO users (${USER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET email = excluded.email, name = excluded.name, plan = excluded.plan,
         access_level = excluded.access_level, branch_id = excluded.branch_id,
         department_id = excluded.department_id`,
    );
    this.#remove = connection.prepare('DELETE FROM users WHERE id = ?');
    this.#branch = connection.prepare('SELECT id FROM branches WHERE company_id = ? AND id = ?');
    this.#department = connection.prepare<{ branch_id: string }>(
      'SELECT branch_id FROM departments WHERE company_id = ? AND id = ?',
    );
    this.#count = connection.prepare<AccountCounts>(
      'SELECT (SELECT count(*) FROM companies) AS companies, (SELECT count(*) FROM users) AS users',
    );
  }

  countAccounts(): AccountCounts {
    return this.#count.get() ?? { companies: 0, users: 0 };
  }

  find(userId: string): User | undefined {
    const row = this.#find.get(userId);
    // A driver may cut a text at its first NUL. The rest of the id must match, too.
    return row?.id === userId ? toUser(row) : undefined;
  }

  /** Every id sorts after the empty string. */
  list(afterId: string | undefined, limit: number): User[] {
    return this.#list.all(afterId ?? '', limit).map(toUser);
  }

  put(user: User): void {
    const { id, companyId, email, name, plan, accessLevel, branchId, departmentId } = user;
    this.#put.run(id, companyId, email, name, plan, accessLevel, branchId, departmentId);
  }

  remove(userId: string): boolean {
    return this.#remove.run(userId) > 0;
  }

  update(userId: string, changes: UserChanges): UpdateUserOutcome {
    const existing = this.find(userId);
    if (!existing) return { kind: 'no-such-user' };
    const changed = { ...existing, ...changes };
    const placed = placeUser(changed, {
      branchExists: this.#branch.get(changed.companyId, changed.branchId) !== undefined,
      branchOfDepartment: this.#department.get(changed.companyId, changed.departmentId)?.branch_id,
    });
    if ('kind' in placed) return placed;
    this.put(placed);
    return { kind: 'updated', user: placed };
  }
}

interface TokenRow {
  id: string;
  user_id: string;
  name: string | null;
  issued_at: number;
  expires_at: number;
  revoked_at: number | null;
}

const toIssuedToken = (row: TokenRow): IssuedToken => ({
  id: row.id,
  userId: row.user_id,
  name: row.name,
  issuedAt: row.issued_at,
  expiresAt: row.expires_at,
});

const SELECT_TOKENS = `SELECT t.id, t.user_id, t.name, t.issued_at, t.expires_at, r.revoked_at
  FROM issued_tokens AS t LEFT JOIN revoked_tokens AS r ON r.token_id = t.id`;

export class Tokens {
  readonly #record;
  readonly #find;
  readonly #list;
  readonly #revoke;
  readonly #revoked;

  constructor(connection: Connection) {
    this.#record = connection.prepare(
      'INSERT INTO issued_tokens (id, user_id, name, issued_at, expires_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#find = connection.prepare<TokenRow>(`${SELECT_TOKENS} WHERE t.id = ?`);
    this.#list = connection.prepare<TokenRow>(
      `${SELECT_TOKENS} WHERE t.user_id = ? ORDER BY t.issued_at, t.id`,
    );
    this.#revoke = connection.prepare(
      'INSERT INTO revoked_tokens (token_id, revoked_at) VALUES (?, ?) ON CONFLICT DO NOTHING',
    );
    this.#revoked = connection.prepare('SELECT 1 FROM revoked_tokens WHERE token_id = ?');
  }

  record(tokens: readonly IssuedToken[]): void {
    for (const { id, userId, name, issuedAt, expiresAt } of tokens)
      this.#record.run(id, userId, name, issuedAt, expiresAt);
  }

  find(tokenId: string): IssuedToken | undefined {
    const row = this.#find.get(tokenId);
    return row && toIssuedToken(row);
  }

  list(userId: string): ListedToken[] {
    return this.#list.all(userId).map((row) => ({ ...toIssuedToken(row), revokedAt: row.revoked_at }));
  }

  revoke(tokenId: string, now: number): boolean {
    return this.#revoke.run(tokenId, now) > 0;
  }

  isRevoked(tokenId: string): boolean {
    return this.#revoked.get(tokenId) !== undefined;
  }
}
