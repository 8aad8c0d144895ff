import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_STATUSES } from './default-statuses.ts';
import type { Branch, Company, Department, Organisation, Status, User, UserInput } from './records.ts';
import type { ApplyOutcome, ChangeCount, OrganisationConflict, StatusOfCompany } from './store.ts';

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

/** What a store holds of an organisation, and what it is to hold. */
export interface OrganisationTables {
  readonly companies: Table<CompanyRow, { readonly id: string }>;
  readonly branches: Table<BranchRow, PlaceKey>;
  readonly departments: Table<DepartmentRow, PlaceKey>;
  readonly statuses: {
    /** In the order of their values. */
    ofCompany(companyId: string): readonly StatusRow[];
    put(row: StatusRow): void;
  };
  readonly users: Table<User, { readonly id: string }>;
}

type Kind = keyof OrganisationTables;

/**
 * A status that the file no longer lists. One that leads still have stays, because a lead is never without one; it goes
 * to this position behind the others, because the first status is what new leads get where none is called NEW.
 */
export interface DroppedStatus extends StatusOfCompany {
  readonly position: number;
}

export interface OrganisationDifference {
  readonly counts: Readonly<Record<Kind, ChangeCount>>;
  /** If there are any, the whole file is refused. */
  readonly conflicts: readonly OrganisationConflict[];
  readonly dropped: readonly DroppedStatus[];
}

/**
 * Puts one file into the tables: what is new is made, what differs is changed, and what the file does not name stays,
 * save the statuses of a company that brings a catalogue. Those it leaves out are for the store to keep or to remove.
 */
export function putOrganisation(
  tables: OrganisationTables,
  { companies }: Organisation,
): OrganisationDifference {
  const application = new Application(tables);
  for (const company of companies) application.putCompany(company);
  return application;
}

/** What is told of a file that was applied. */
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
