import type { AccessLevel, User } from '../records.ts';
import type { AccountCounts, UpdateUserOutcome, UserChanges } from '../store.ts';
import { placeUser } from '../user-place.ts';
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

const COLUMNS = 'id, company_id, email, name, plan, access_level, branch_id, department_id';

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
    this.#find = connection.prepare<UserRow>(`SELECT ${COLUMNS} FROM users WHERE id = ?`);
    this.#list = connection.prepare<UserRow>(`SELECT ${COLUMNS} FROM users WHERE id > ? ORDER BY id LIMIT ?`);
    this.#put = connection.prepare(
      `INSERT INTO users (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
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
    // A driver may end a text at its first NUL, and an id that only begins like a user's is nobody's.
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
    const placed = this.#place({ ...existing, ...changes });
    if ('kind' in placed) return placed;
    this.put(placed);
    return { kind: 'updated', user: placed };
  }

  #place(user: User): ReturnType<typeof placeUser> {
    const { companyId, branchId, departmentId } = user;
    return placeUser(user, {
      branchExists: this.#branch.get(companyId, branchId) !== undefined,
      branchOfDepartment: this.#department.get(companyId, departmentId)?.branch_id,
    });
  }
}
