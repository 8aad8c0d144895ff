import { isDeepStrictEqual } from 'node:util';
import type { Branch, Company, Department, Organisation, Status, User, UserInput } from './records.ts';
import type { ApplyOutcome, ChangeCount, OrganisationConflict, StatusOfCompany } from './store.ts';

/** The statuses of a new company whose file lists none. */
export const DEFAULT_STATUSES: readonly Status[] = [
  { value: 'NEW', label: 'New', color: '#2563eb', final: false },
  { value: 'CONTACTED', label: 'Contacted', color: '#7c3aed', final: false },
  { value: 'APPOINTMENT', label: 'Appointment', color: '#d97706', final: false },
  { value: 'QUOTED', label: 'Quoted', color: '#0891b2', final: false },
  { value: 'WON', label: 'Won', color: '#16a34a', final: true },
  { value: 'LOST', label: 'Lost', color: '#6b7280', final: true },
];

export interface CompanyRow {
  readonly id: string;
  readonly name: string;
}

export interface BranchRow {
  readonly companyId: string;
  readonly id: string;
  readonly name: string;
}

export interface DepartmentRow extends BranchRow {
  readonly branchId: string;
}

export interface StatusRow extends Status {
  readonly companyId: string;
  readonly position: number;
}

export interface Table<Row, Key> {
  find(key: Key): Row | undefined;
  put(row: Row): void;
}

type PlaceKey = Pick<BranchRow, 'companyId' | 'id'>;

/** Reads and writes the stored organisation. */
export interface OrganisationTables {
  readonly companies: Table<CompanyRow, { readonly id: string }>;
  readonly branches: Table<BranchRow, PlaceKey>;
  readonly departments: Table<DepartmentRow, PlaceKey>;
  readonly statuses: {
    /** Sorted by value. */
    ofCompany(companyId: string): readonly StatusRow[];
    put(row: StatusRow): void;
  };
  readonly users: Table<User, { readonly id: string }>;
}

type Kind = keyof OrganisationTables;

/**
 * A status that the file no longer lists. If leads still use it, it is kept and moved to this position after the others,
 * because a new lead gets the first status where none is called NEW.
 */
export interface DroppedStatus extends StatusOfCompany {
  readonly position: number;
}

export interface OrganisationDifference {
  readonly counts: Readonly<Record<Kind, ChangeCount>>;
  /** If there are any, the file is refused as a whole. */
  readonly conflicts: readonly OrganisationConflict[];
  readonly dropped: readonly DroppedStatus[];
}

/**
 * Writes a file to the tables: new rows are created, different ones updated, and rows that the file does not list are
 * kept. Exception: statuses that a listed catalogue leaves out are returned as `dropped`, and the store removes or keeps
 * them.
 */
export function putOrganisation(
  tables: OrganisationTables,
  { companies }: Organisation,
): OrganisationDifference {
  const application = new Application(tables);
  for (const company of companies) application.putCompany(company);
  return application;
}

/** The outcome of a file that was applied, given the dropped statuses that the store kept. */
export function appliedOutcome(
  { counts, dropped }: OrganisationDifference,
  kept: ReadonlySet<DroppedStatus>,
): ApplyOutcome {
  const name = ({ companyId, value }: DroppedStatus): StatusOfCompany => ({ companyId, value });
  const keptStatuses = dropped.filter((status) => kept.has(status)).map(name);
  const removedStatuses = dropped.filter((status) => !kept.has(status)).map(name);
  return { kind: 'applied', changes: { ...counts, keptStatuses, removedStatuses } };
}

class Application implements OrganisationDifference {
  readonly counts = {
    companies: zero(),
    branches: zero(),
    departments: zero(),
    statuses: zero(),
    users: zero(),
  };
  readonly conflicts: OrganisationConflict[] = [];
  readonly dropped: DroppedStatus[] = [];
  readonly #tables: OrganisationTables;

  constructor(tables: OrganisationTables) {
    this.#tables = tables;
  }

  putCompany({ id, name, statuses, branches, users }: Company): void {
    const existing = this.#tables.companies.find({ id });
    this.#put('companies', this.#tables.companies, existing, { id, name });
    const catalogue = statuses ?? (existing ? undefined : DEFAULT_STATUSES);
    if (catalogue) this.#putCatalogue(id, catalogue);
    for (const branch of branches) this.#putBranch(id, branch);
    for (const user of users) this.#putUser(id, user);
  }

  #putCatalogue(companyId: string, catalogue: readonly Status[]): void {
    const existing = new Map(this.#tables.statuses.ofCompany(companyId).map((row) => [row.value, row]));
    for (const [position, { value, label, color, final }] of catalogue.entries()) {
      const row = { companyId, value, label, color, final, position };
      this.#put('statuses', this.#tables.statuses, existing.get(value), row);
      existing.delete(value);
    }
    for (const [index, value] of [...existing.keys()].entries())
      this.dropped.push({ companyId, value, position: catalogue.length + index });
  }

  #putBranch(companyId: string, { id, name, departments }: Branch): void {
    const existing = this.#tables.branches.find({ companyId, id });
    this.#put('branches', this.#tables.branches, existing, { companyId, id, name });
    for (const department of departments) this.#putDepartment(companyId, id, department);
  }

  #putDepartment(companyId: string, branchId: string, { id, name }: Department): void {
    const existing = this.#tables.departments.find({ companyId, id });
    if (existing && existing.branchId !== branchId)
      this.conflicts.push({
        kind: 'department-in-another-branch',
        companyId,
        departmentId: id,
        branchId,
        existingBranchId: existing.branchId,
      });
    else this.#put('departments', this.#tables.departments, existing, { companyId, id, branchId, name });
  }

  #putUser(companyId: string, input: UserInput): void {
    const existing = this.#tables.users.find(input);
    const { name = null, email = null } = existing ?? {};
    if (existing && existing.companyId !== companyId)
      this.conflicts.push({
        kind: 'user-in-another-company',
        userId: input.id,
        companyId,
        existingCompanyId: existing.companyId,
      });
    else this.#put('users', this.#tables.users, existing, { name, email, ...input, companyId });
  }

  #put<Row>(kind: Kind, table: { put(row: Row): void }, existing: Row | undefined, row: Row): void {
    const unchanged = isDeepStrictEqual(existing, row);
    this.counts[kind][existing === undefined ? 'created' : unchanged ? 'unchanged' : 'updated'] += 1;
    if (!unchanged) table.put(row);
  }
}

const zero = () => ({ created: 0, updated: 0, unchanged: 0 });
