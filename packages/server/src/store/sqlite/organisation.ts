import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_STATUSES } from '../default-statuses.ts';
import type { Branch, Company, Organisation, Status, UserInput } from '../records.ts';
import type { ApplyOutcome, ChangeCount, OrganisationConflict, StatusOfCompany } from '../store.ts';
import type { Connection, Undo } from './connection.ts';
import type { Users } from './users.ts';

type Counted = 'companies' | 'branches' | 'departments' | 'statuses' | 'users';
type Counts = Record<Counted, { -readonly [K in keyof ChangeCount]: number }>;

interface StatusRow {
  value: string;
  label: string;
  color: string;
  final: number;
  position: number;
}

const prepareStatements = (connection: Connection) => ({
  company: connection.prepare<{ name: string }>('SELECT name FROM companies WHERE id = ?'),
  putCompany: connection.prepare(
    'INSERT INTO companies (id, name) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name',
  ),
  branch: connection.prepare<{ name: string }>('SELECT name FROM branches WHERE company_id = ? AND id = ?'),
  putBranch: connection.prepare(
    `INSERT INTO branches (company_id, id, name) VALUES (?, ?, ?)
     ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`,
  ),
  department: connection.prepare<{ name: string; branch_id: string }>(
    'SELECT name, branch_id FROM departments WHERE company_id = ? AND id = ?',
  ),
  putDepartment: connection.prepare(
    `INSERT INTO departments (company_id, id, branch_id, name) VALUES (?, ?, ?, ?)
     ON CONFLICT (company_id, id) DO UPDATE SET name = excluded.name`,
  ),
  statuses: connection.prepare<StatusRow>(
    'SELECT value, label, color, final, position FROM statuses WHERE company_id = ?',
  ),
  putStatus: connection.prepare(
    `INSERT INTO statuses (company_id, value, label, color, final, position) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (company_id, value) DO UPDATE SET label = excluded.label, color = excluded.color,
       final = excluded.final, position = excluded.position`,
  ),
  statusInUse: connection.prepare('SELECT 1 FROM leads WHERE company_id = ? AND status_value = ? LIMIT 1'),
  moveStatus: connection.prepare('UPDATE statuses SET position = ? WHERE company_id = ? AND value = ?'),
  removeStatus: connection.prepare('DELETE FROM statuses WHERE company_id = ? AND value = ?'),
});

type Statements = ReturnType<typeof prepareStatements>;

/** Gives the work of a transaction that applies an organisation file; with a conflict, nothing of it stays. */
export function prepareApply(connection: Connection, users: Users) {
  const sql = prepareStatements(connection);
  return (organisation: Organisation, undo: Undo<ApplyOutcome>): ApplyOutcome => {
    const outcome = new Application(sql, users).apply(organisation);
    return outcome.kind === 'conflict' ? undo(outcome) : outcome;
  };
}

/**
 * Applies one file: what is new is made, what differs is changed, and what the file does not name stays, save the
 * statuses of a company that brings a catalogue.
 */
class Application {
  readonly #sql: Statements;
  readonly #users: Users;
  readonly #counts = zeroCounts();
  readonly #conflicts: OrganisationConflict[] = [];
  readonly #kept: StatusOfCompany[] = [];
  readonly #removed: StatusOfCompany[] = [];

  constructor(sql: Statements, users: Users) {
    this.#sql = sql;
    this.#users = users;
  }

  apply({ companies }: Organisation): ApplyOutcome {
    for (const company of companies) this.#applyCompany(company);
    if (this.#conflicts.length > 0) return { kind: 'conflict', conflicts: this.#conflicts };
    const changes = { ...this.#counts, keptStatuses: this.#kept, removedStatuses: this.#removed };
    return { kind: 'applied', changes };
  }

  #applyCompany(company: Company): void {
    const { id, name, statuses, branches, users } = company;
    const existing = this.#sql.company.get(id);
    this.#put('companies', existing, { name }, () => this.#sql.putCompany.run(id, name));
    const catalogue = statuses ?? (existing ? undefined : DEFAULT_STATUSES);
    if (catalogue) this.#applyStatuses(id, catalogue);
    for (const branch of branches) this.#applyBranch(id, branch);
    for (const user of users) this.#applyUser(id, user);
  }

  #applyStatuses(companyId: string, catalogue: readonly Status[]): void {
    const existing = new Map(this.#sql.statuses.all(companyId).map((row) => [row.value, row]));
    for (const [position, { value, label, color, final }] of catalogue.entries()) {
      const wanted: StatusRow = { value, label, color, final: final ? 1 : 0, position };
      this.#put('statuses', existing.get(value), wanted, () =>
        this.#sql.putStatus.run(companyId, value, label, color, wanted.final, position),
      );
      existing.delete(value);
    }
    let position = catalogue.length;
    for (const value of existing.keys()) if (this.#dropStatus(companyId, value, position)) position += 1;
  }

  /**
   * A status that leads still have stays, because a lead is never without one. It goes behind the others, because
   * the first one is what new leads get where none is called NEW. True when it stays.
   *
   * No index finds the leads of a status: one more would make every new lead a tenth dearer. So a status without
   * leads costs two readings of all leads of the company, this one and SQLite's own check of the reference:
   * 0.9 s for a million, under the write lock, for each status that a file drops.
   */
  #dropStatus(companyId: string, value: string, position: number): boolean {
    const inUse = this.#sql.statusInUse.get(companyId, value) !== undefined;
    if (inUse) this.#sql.moveStatus.run(position, companyId, value);
    else this.#sql.removeStatus.run(companyId, value);
    (inUse ? this.#kept : this.#removed).push({ companyId, value });
    return inUse;
  }

  #applyBranch(companyId: string, { id: branchId, name, departments }: Branch): void {
    const existing = this.#sql.branch.get(companyId, branchId);
    this.#put('branches', existing, { name }, () => this.#sql.putBranch.run(companyId, branchId, name));
    for (const department of departments) this.#applyDepartment(companyId, branchId, department);
  }

  #applyDepartment(
    companyId: string,
    branchId: string,
    { id: departmentId, name }: { id: string; name: string },
  ): void {
    const existing = this.#sql.department.get(companyId, departmentId);
    if (existing && existing.branch_id !== branchId) {
      const existingBranchId = existing.branch_id;
      this.#conflicts.push({
        kind: 'department-in-another-branch',
        companyId,
        departmentId,
        branchId,
        existingBranchId,
      });
      return;
    }
    this.#put('departments', existing, { name, branch_id: branchId }, () =>
      this.#sql.putDepartment.run(companyId, departmentId, branchId, name),
    );
  }

  #applyUser(companyId: string, input: UserInput): void {
    const existing = this.#users.find(input.id);
    const { name = null, email = null } = existing ?? {};
    const user = { name, email, ...input, companyId };
    if (existing && existing.companyId !== user.companyId) {
      this.#conflicts.push({
        kind: 'user-in-another-company',
        userId: user.id,
        companyId: user.companyId,
        existingCompanyId: existing.companyId,
      });
      return;
    }
    this.#put('users', existing, user, () => this.#users.put(user));
  }

  #put(kind: Counted, existing: object | undefined, wanted: object, write: () => void): void {
    // A row has no prototype, and the comparison would mind; its copy has one.
    const unchanged = existing !== undefined && isDeepStrictEqual({ ...existing }, wanted);
    this.#counts[kind][existing === undefined ? 'created' : unchanged ? 'unchanged' : 'updated'] += 1;
    if (!unchanged) write();
  }
}

function zeroCounts(): Counts {
  const zero = () => ({ created: 0, updated: 0, unchanged: 0 });
  return { companies: zero(), branches: zero(), departments: zero(), statuses: zero(), users: zero() };
}
