import { type PlacesFound, placeUser } from '../placement.ts';
import type { User } from '../records.ts';
import type { UpdateUserOutcome, UserChanges } from '../store.ts';
import type { Database, Session } from './connection.ts';
import { isText } from './text.ts';

export const USER_COLUMNS = `id, company_id AS "companyId", email, name, plan, access_level AS "accessLevel",
  branch_id AS "branchId", department_id AS "departmentId"`;

/** Takes a JSON array of users. */
export const PUT_USERS = `
  INSERT INTO leadtap.users (id, company_id, email, name, plan, access_level, branch_id, department_id)
  SELECT * FROM json_to_recordset($1) AS u (id text, "companyId" text, email text, name text, plan text,
    "accessLevel" text, "branchId" text, "departmentId" text)
  ON CONFLICT (id) DO UPDATE SET email = excluded.email, name = excluded.name, plan = excluded.plan,
    access_level = excluded.access_level, branch_id = excluded.branch_id, department_id = excluded.department_id`;

const FIND = `SELECT ${USER_COLUMNS} FROM leadtap.users WHERE id = $1`;
const LIST = `SELECT ${USER_COLUMNS} FROM leadtap.users WHERE id > $1 ORDER BY id LIMIT $2`;

const FIND_PLACES = `SELECT
  EXISTS (SELECT FROM leadtap.branches WHERE company_id = $1 AND id = $2) AS "branchExists",
  (SELECT branch_id FROM leadtap.departments WHERE company_id = $1 AND id = $3) AS "branchOfDepartment"`;

export class Users {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  find(userId: string): Promise<User | undefined> {
    return findUser(this.#database, FIND, userId);
  }

  /** Every id sorts after the empty string. */
  list(afterId: string | undefined, limit: number): Promise<User[]> {
    return this.#database.query<User>(LIST, [afterId ?? '', limit]);
  }

  /** In a transaction, because an organisation file that is being applied may be in the way for some seconds. */
  async remove(userId: string): Promise<boolean> {
    if (!isText(userId)) return false;
    const removed = await this.#database.transaction((session) =>
      session.query('DELETE FROM leadtap.users WHERE id = $1 RETURNING id', [userId]),
    );
    return removed.length > 0;
  }

  update(userId: string, changes: UserChanges): Promise<UpdateUserOutcome> {
    return this.#database.transaction(async (session): Promise<UpdateUserOutcome> => {
      const existing = await findUser(session, `${FIND} FOR UPDATE`, userId);
      if (!existing) return { kind: 'no-such-user' };
      const changed = { ...existing, ...changes };
      const placed = placeUser(changed, await findPlaces(session, changed));
      if ('kind' in placed) return placed;
      await session.query(PUT_USERS, [JSON.stringify([placed])]);
      return { kind: 'updated', user: placed };
    });
  }
}

async function findUser(session: Session, text: string, userId: string): Promise<User | undefined> {
  if (!isText(userId)) return undefined;
  const [user] = await session.query<User>(text, [userId]);
  // The driver replaces half of a pair, and an id that only looks like a user's is nobody's.
  return user?.id === userId ? user : undefined;
}

async function findPlaces(session: Session, user: User): Promise<PlacesFound> {
  const { companyId, branchId, departmentId } = user;
  const [found] = await session.query<{ branchExists: boolean; branchOfDepartment: string | null }>(
    FIND_PLACES,
    [companyId, branchId, departmentId],
  );
  return {
    branchExists: found?.branchExists ?? false,
    branchOfDepartment: found?.branchOfDepartment ?? undefined,
  };
}
