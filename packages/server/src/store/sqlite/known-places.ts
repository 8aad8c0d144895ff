import type { Places } from '../placement.ts';
import type { Connection } from './connection.ts';

const prepareStatements = (connection: Connection) => ({
  branch: connection.prepare<{ id: string }>('SELECT id FROM branches WHERE company_id = ? AND id = ?'),
  department: connection.prepare<{ branch_id: string }>(
    'SELECT branch_id FROM departments WHERE company_id = ? AND id = ?',
  ),
  statuses: connection.prepare<{ value: string }>(
    'SELECT value FROM statuses WHERE company_id = ? ORDER BY position',
  ),
});

type Statements = ReturnType<typeof prepareStatements>;

/** Gives what begins a transaction. */
export function preparePlaces(connection: Connection): () => Places {
  const sql = prepareStatements(connection);
  return () => new KnownPlaces(sql);
}

/** Each part of the organisation is read once in a transaction. */
class KnownPlaces implements Places {
  readonly #sql: Statements;
  readonly #statusesOf = new Map<string, readonly string[]>();
  readonly #branches = new Map<string, boolean>();
  readonly #branchOf = new Map<string, string | undefined>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  statusValues(companyId: string): readonly string[] {
    return remember(this.#statusesOf, companyId, () =>
      this.#sql.statuses.all(companyId).map(({ value }) => value),
    );
  }

  hasBranch(companyId: string, branchId: string): boolean {
    return remember(
      this.#branches,
      `${companyId}\0${branchId}`,
      () => this.#sql.branch.get(companyId, branchId) !== undefined,
    );
  }

  branchOfDepartment(companyId: string, departmentId: string): string | undefined {
    return remember(
      this.#branchOf,
      `${companyId}\0${departmentId}`,
      () => this.#sql.department.get(companyId, departmentId)?.branch_id,
    );
  }
}

function remember<T>(memory: Map<string, T>, key: string, find: () => T): T {
  const known = memory.get(key);
  if (known !== undefined || memory.has(key)) return known as T;
  const found = find();
  memory.set(key, found);
  return found;
}
