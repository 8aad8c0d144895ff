/** Compares an organisation file with the stored organisation. */
import { isDeepStrictEqual } from 'node:util';
import {
  type Branch,
  type Company,
  idInCompany,
  type Organisation,
  type Status,
  type User,
  type UserInput,
} from './records.ts';
import type { ApplyOptions, ApplyOutcome, OrganisationConflict, StatusOfCompany } from './store.ts';

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

export interface BranchRow extends CompanyRow {
  readonly companyId: string;
}

export interface DepartmentRow extends BranchRow {
  readonly branchId: string;
}

export interface StatusRow extends Status {
  readonly companyId: string;
  readonly position: number;
}

/** The stored rows of the companies of a file. */
export interface StoredOrganisation {
  readonly companies: readonly CompanyRow[];
  readonly branches: readonly BranchRow[];
  readonly departments: readonly DepartmentRow[];
  /** Sorted by value. */
  readonly statuses: readonly StatusRow[];
  /** The users of the file, in whatever company they are: a user of another company is a conflict. */
  readonly users: readonly User[];
}

/**
 * A status that the file no longer lists. If leads still use it, it is kept and moved to this position after the others,
 * because a new lead gets the first status where none is called NEW.
 */
export interface DroppedStatus extends StatusOfCompany {
  readonly position: number;
}

/** The stored rows of a table, compared with those of the file. */
class ComparedTable<Row extends object> {
  /** New rows, and rows with other values than the stored ones. */
  readonly changed: Row[] = [];
  readonly count = { created: 0, updated: 0, unchanged: 0 };
  readonly #idOf: (row: Row) => string;
  readonly #stored: ReadonlyMap<string, Row>;

  constructor(stored: readonly Row[], idOf: (row: Row) => string) {
    this.#idOf = idOf;
    this.#stored = new Map(stored.map((row) => [idOf(row), row]));
  }

  find(key: string): Row | undefined {
    return this.#stored.get(key);
  }

  add(row: Row): void {
    const stored = this.find(this.#idOf(row));
    const isUnchanged = isDeepStrictEqual(stored, row);
    this.count[stored === undefined ? 'created' : isUnchanged ? 'unchanged' : 'updated'] += 1;
    if (!isUnchanged) this.changed.push(row);
  }
}

const byId = ({ id }: { readonly id: string }): string => id;
const byPlace = ({ companyId, id }: BranchRow): string => idInCompany(companyId, id);

/**
 * What a file changes: new rows are created, different ones updated, and rows that the file does not list are kept.
 * Exception: the store removes or keeps the statuses that a listed catalogue leaves out.
 */
export class OrganisationDifference {
  readonly companies;
  readonly branches;
  readonly departments;
  readonly statuses;
  readonly users;
  /** If there are any, the file is refused as a whole. */
  readonly conflicts: OrganisationConflict[] = [];
  readonly dropped: DroppedStatus[] = [];
  readonly #storedValues = new Map<string, readonly string[]>();
  readonly #onlyNewUsers: boolean;

  constructor(
    stored: StoredOrganisation,
    organisation: Organisation,
    { onlyNewUsers = false }: ApplyOptions = {},
  ) {
    this.#onlyNewUsers = onlyNewUsers;
    this.companies = new ComparedTable(stored.companies, byId);
    this.branches = new ComparedTable(stored.branches, byPlace);
    this.departments = new ComparedTable(stored.departments, byPlace);
    this.statuses = new ComparedTable(stored.statuses, (row) => idInCompany(row.companyId, row.value));
    this.users = new ComparedTable(stored.users, byId);
    for (const { companyId, value } of stored.statuses)
      this.#storedValues.set(companyId, [...(this.#storedValues.get(companyId) ?? []), value]);
    for (const company of organisation.companies) this.#addCompany(company);
  }

  /** The outcome of a file that was applied, given the dropped statuses that the store kept. */
  outcome(kept: ReadonlySet<DroppedStatus>): ApplyOutcome {
    const list = (isKept: boolean): StatusOfCompany[] =>
      this.dropped
        .filter((status) => kept.has(status) === isKept)
        .map(({ companyId, value }) => ({ companyId, value }));
    return {
      kind: 'applied',
      changes: {
        companies: this.companies.count,
        branches: this.branches.count,
        departments: this.departments.count,
        statuses: this.statuses.count,
        users: this.users.count,
        keptStatuses: list(true),
        removedStatuses: list(false),
      },
    };
  }

  #addCompany({ id, name, statuses, branches, users }: Company): void {
    this.companies.add({ id, name });
    const catalogue = statuses ?? (this.companies.find(id) ? undefined : DEFAULT_STATUSES);
    if (catalogue) this.#addCatalogue(id, catalogue);
    for (const branch of branches) this.#addBranch(id, branch);
    for (const user of users) this.#addUser(id, user);
  }

  #addCatalogue(companyId: string, catalogue: readonly Status[]): void {
    for (const [position, { value, label, color, final }] of catalogue.entries())
      this.statuses.add({ companyId, value, label, color, final, position });
    const listed = new Set(catalogue.map(({ value }) => value));
    const unlisted = (this.#storedValues.get(companyId) ?? []).filter((value) => !listed.has(value));
    for (const [index, value] of unlisted.entries())
      this.dropped.push({ companyId, value, position: catalogue.length + index });
  }

  #addBranch(companyId: string, { id: branchId, name, departments }: Branch): void {
    this.branches.add({ companyId, id: branchId, name });
    for (const { id, name } of departments) {
      const existingBranchId = this.departments.find(idInCompany(companyId, id))?.branchId ?? branchId;
      if (existingBranchId === branchId) this.departments.add({ companyId, id, branchId, name });
      else
        this.conflicts.push({
          kind: 'department-in-another-branch',
          companyId,
          departmentId: id,
          branchId,
          existingBranchId,
        });
    }
  }

  #addUser(companyId: string, input: UserInput): void {
    const existing = this.users.find(input.id);
    const { name = null, email = null, companyId: existingCompanyId = companyId } = existing ?? {};
    if (existing && this.#onlyNewUsers)
      this.conflicts.push({ kind: 'user-exists', userId: input.id, companyId: existingCompanyId });
    else if (existingCompanyId === companyId) this.users.add({ name, email, ...input, companyId });
    else
      this.conflicts.push({
        kind: 'user-in-another-company',
        userId: input.id,
        companyId,
        existingCompanyId,
      });
  }
}
