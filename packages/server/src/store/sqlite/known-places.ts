import { placeKey } from '../place-key.ts';
import { type Placed, type Places, resolvePlace } from '../placement.ts';
import type { LeadInput } from '../records.ts';
import type { Connection } from './connection.ts';
import type { PackedLead } from './packed-lead.ts';

const prepareStatements = (connection: Connection) => ({
  company: connection.prepare<{ id: string }>('SELECT id FROM companies WHERE id = ?'),
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
export function preparePlaces(connection: Connection): () => KnownPlaces {
  const sql = prepareStatements(connection);
  return () => new KnownPlaces(sql);
}

/** Each part of the organisation is read once in a transaction, and each place that new leads name is resolved once. */
export class KnownPlaces implements Places {
  readonly #sql: Statements;
  readonly #statusesOf = new Map<string, readonly string[]>();
  readonly #branches = new Map<string, boolean>();
  readonly #branchOf = new Map<string, string | undefined>();
  readonly #ofNewLeads = new Map<string, Placed>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Where the lead stands if it is new. */
  ofNewLead(lead: PackedLead): Placed {
    const [companyId, , , branchId, departmentId, statusValue] = lead;
    const key = placeKey(companyId, branchId, departmentId, statusValue);
    return remember(this.#ofNewLeads, key, () => resolvePlace(placeGiven(lead), undefined, this));
  }

  /** Not remembered: only rejected leads are checked by it. */
  hasCompany(companyId: string): boolean {
    return this.#sql.company.get(companyId) !== undefined;
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

/** What the lead says about its place. */
export const placeGiven = ([companyId, , , branchId, departmentId, statusValue]: PackedLead): LeadInput => ({
  companyId,
  ...(branchId !== undefined && { branchId }),
  ...(departmentId !== undefined && { departmentId }),
  ...(statusValue !== undefined && { statusValue }),
  fields: {},
});

function remember<T>(memory: Map<string, T>, key: string, find: () => T): T {
  const known = memory.get(key);
  if (known !== undefined || memory.has(key)) return known as T;
  const found = find();
  memory.set(key, found);
  return found;
}
