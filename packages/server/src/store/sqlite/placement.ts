import type { LeadInput } from '../records.ts';
import type { PlacementProblem } from '../store.ts';
import type { Connection } from './connection.ts';

export interface Place {
  readonly branchId: string | null;
  readonly departmentId: string | null;
  readonly statusValue: string;
}

export type Placed = { readonly place: Place } | { readonly problem: PlacementProblem };

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
export function preparePlacement(connection: Connection): () => Placement {
  const sql = prepareStatements(connection);
  return () => new Placement(sql);
}

/** The organisation as one transaction sees it, each part read once. */
export class Placement {
  readonly #sql: Statements;
  readonly #statusesOf = new Map<string, readonly string[]>();
  readonly #branches = new Map<string, boolean>();
  readonly #branchOf = new Map<string, string | undefined>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Where the lead stands after this input; `existing` is where it stands now. */
  resolve(input: LeadInput, existing: Place | undefined): Placed {
    const statuses = this.#statusValues(input.companyId);
    const statusValue = input.statusValue ?? existing?.statusValue ?? defaultStatus(statuses);
    if (!statuses.includes(statusValue))
      return { problem: { field: 'statusValue', reason: 'unknown', value: statusValue, allowed: statuses } };
    if (input.branchId != null && !this.#branchExists(input.companyId, input.branchId))
      return { problem: { field: 'branchId', reason: 'unknown', value: input.branchId } };
    if (input.departmentId != null) return this.#inDepartment(input, input.departmentId, statusValue);
    return { place: { ...this.#withoutNewDepartment(input, existing), statusValue } };
  }

  /** The department says which branch it is; a branch given beside it must be that one. */
  #inDepartment(input: LeadInput, departmentId: string, statusValue: string): Placed {
    const branchId = this.#branchOfDepartment(input.companyId, departmentId);
    if (branchId === undefined)
      return { problem: { field: 'departmentId', reason: 'unknown', value: departmentId } };
    if (input.branchId != null && input.branchId !== branchId)
      return {
        problem: { field: 'departmentId', reason: 'in-another-branch', value: departmentId, branchId },
      };
    return { place: { branchId, departmentId, statusValue } };
  }

  /** A lead that moves to another branch leaves the department it had in the old one. */
  #withoutNewDepartment(input: LeadInput, existing: Place | undefined): Omit<Place, 'statusValue'> {
    const branchId = input.branchId === undefined ? (existing?.branchId ?? null) : input.branchId;
    const stays = input.departmentId === undefined && branchId === existing?.branchId;
    return { branchId, departmentId: stays ? (existing?.departmentId ?? null) : null };
  }

  #statusValues(companyId: string): readonly string[] {
    return remember(this.#statusesOf, companyId, () =>
      this.#sql.statuses.all(companyId).map(({ value }) => value),
    );
  }

  #branchExists(companyId: string, branchId: string): boolean {
    return remember(
      this.#branches,
      `${companyId}\0${branchId}`,
      () => this.#sql.branch.get(companyId, branchId) !== undefined,
    );
  }

  #branchOfDepartment(companyId: string, departmentId: string): string | undefined {
    return remember(
      this.#branchOf,
      `${companyId}\0${departmentId}`,
      () => this.#sql.department.get(companyId, departmentId)?.branch_id,
    );
  }
}

/** A new lead is NEW where the catalogue has that status, else in the first one. */
const defaultStatus = (statuses: readonly string[]): string =>
  statuses.includes('NEW') ? 'NEW' : (statuses[0] ?? 'NEW');

function remember<T>(memory: Map<string, T>, key: string, find: () => T): T {
  const known = memory.get(key);
  if (known !== undefined || memory.has(key)) return known as T;
  const found = find();
  memory.set(key, found);
  return found;
}
