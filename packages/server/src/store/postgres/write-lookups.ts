/** What a write of leads depends on. */
import { idInCompany, type VerifiedToken } from '../../accounts/records.ts';
import type { Account } from '../../accounts/store.ts';
import type { StoredRequest } from '../../intake/idempotency.ts';
import type { LeadLookup, PlacementRow, StatusName } from '../../leads/placement.ts';
import type { LeadInput } from '../../leads/record.ts';
import type { LeadFieldsRow } from '../../leads/row.ts';
import { storableOrNull } from '../../sql/sql.ts';
import type { Session, SqlValue } from './connection.ts';

interface LeadKey {
  company_id: string;
  id: string;
}

export type ExistingRow = LeadFieldsRow &
  PlacementRow &
  LeadKey & {
    created_at: number;
  };

/** The result of `leadtap.read_batch`. A list without rows is null. */
export interface BatchRow {
  busy: string[] | null;
  now_ms: number;
  accounts: Account[] | null;
  requests: (StoredRequest & { key_hash: string })[] | null;
  companies: { id: string; statuses: StatusName[] }[] | null;
  branches: LeadKey[] | null;
  departments: (LeadKey & { branch_id: string })[] | null;
  existing: ExistingRow[] | null;
  erased: LeadKey[] | null;
}

const READ_BATCH = 'SELECT * FROM leadtap.read_batch($1, $2, $3, $4, $5, $6)';

/** `wait` fails if the lock of a company is not free in time; `skip` says which of them are busy. */
export type LockMode = 'wait' | 'skip' | 'none';

export interface LookupOptions {
  /** Takes the locks of the companies and of the senders, and locks the leads that exist, until the transaction ends. */
  readonly lockMode?: LockMode;
  readonly senders?: readonly (VerifiedToken | undefined)[];
  readonly keys?: readonly { readonly companyId: string; readonly keyHash: string }[];
}

/** The statement that reads what these leads depend on. */
export function lookupOf(
  leads: readonly LeadInput[],
  { lockMode = 'none', senders = [], keys = [] }: LookupOptions = {},
): { readonly text: string; readonly values: readonly SqlValue[] } {
  const refs = leads.map(({ companyId, id, branchId, departmentId }) => ({
    company_id: companyId,
    id,
    branch_id: branchId,
    department_id: departmentId,
  }));
  const users = senders.map((sender) => storableOrNull(sender?.userId));
  const tokens = senders.map((sender) => storableOrNull(sender?.tokenId));
  const keyCompanies = keys.map(({ companyId }) => companyId);
  const hashes = keys.map(({ keyHash }) => keyHash);
  const values = [JSON.stringify(refs), users, tokens, keyCompanies, hashes, lockMode];
  return { text: READ_BATCH, values };
}

/** What some leads depend on, as it was read. */
export class Lookup implements LeadLookup {
  /** Companies that were skipped: what was read about them does not count. */
  readonly busy: ReadonlySet<string>;
  readonly now: number;
  /** Of the senders, in their order. */
  readonly accounts: readonly Account[];
  /** By company and id. */
  readonly existing: ReadonlyMap<string, ExistingRow>;
  /** By company and id. */
  readonly #erased: ReadonlySet<string>;
  readonly #requests: ReadonlyMap<string, StoredRequest>;
  readonly #statuses: ReadonlyMap<string, readonly StatusName[]>;
  readonly #branches: ReadonlySet<string>;
  readonly #branchOf: ReadonlyMap<string, string>;

  constructor(row: BatchRow | undefined) {
    if (!row) throw new Error('leadtap.read_batch returned no row');
    const toIdInCompany = ({ company_id, id }: LeadKey) => idInCompany(company_id, id);
    this.busy = new Set(row.busy);
    this.now = row.now_ms;
    this.accounts = row.accounts ?? [];
    this.existing = new Map(row.existing?.map((lead) => [toIdInCompany(lead), lead]));
    this.#erased = new Set(row.erased?.map(toIdInCompany));
    this.#requests = new Map(row.requests?.map((request) => [request.key_hash, request]));
    this.#statuses = new Map(row.companies?.map(({ id, statuses }) => [id, statuses]));
    this.#branches = new Set(row.branches?.map(toIdInCompany));
    this.#branchOf = new Map(
      row.departments?.map((department) => [toIdInCompany(department), department.branch_id]),
    );
  }

  /** The request with this key. */
  request(keyHash: string): StoredRequest | undefined {
    return this.#requests.get(keyHash);
  }

  hasCompany(companyId: string): boolean {
    return this.#statuses.has(companyId);
  }

  statuses(companyId: string): readonly StatusName[] {
    return this.#statuses.get(companyId) ?? [];
  }

  hasBranch(companyId: string, branchId: string): boolean {
    return this.#branches.has(idInCompany(companyId, branchId));
  }

  branchOfDepartment(companyId: string, departmentId: string): string | undefined {
    return this.#branchOf.get(idInCompany(companyId, departmentId));
  }

  findExisting(companyId: string, id: string): ExistingRow | undefined {
    return this.existing.get(idInCompany(companyId, id));
  }

  isErased(companyId: string, id: string): boolean {
    return this.#erased.has(idInCompany(companyId, id));
  }
}

/** Without locks. */
export async function readLookup(session: Session, leads: readonly LeadInput[]): Promise<Lookup> {
  const { text, values } = lookupOf(leads);
  const [row] = await session.query<BatchRow>(text, values);
  return new Lookup(row);
}
