import {
  encodeResults,
  KEY_RETENTION_MS,
  MAX_KEYS_PRUNED,
  repeatedOutcome,
  type StoredRequest,
} from '../../intake/idempotency.ts';
import type { FindProblemsOptions, WriteAllOutcome } from '../../intake/store.ts';
import { requireAllWritten, type WriteRequest } from '../../intake/write-all.ts';
import { mayWrite } from '../../leads/access.ts';
import {
  findFutureCreatedAt,
  findNoContent,
  findOutsideScope,
  findPlacementProblems,
  type OrganisationLookup,
  type Placement,
  resolvePlacement,
  type StatusName,
} from '../../leads/placement.ts';
import type { LeadInput, LeadScope } from '../../leads/record.ts';
import { hashErasedId } from '../../leads/removal.ts';
import { FIELD_COLUMNS } from '../../leads/row.ts';
import type {
  LeadResult,
  PlacementProblem,
  PlannedLead,
  WriteOptions,
  WriteOutcome,
} from '../../leads/store.ts';
import type { Clock } from '../../lib/clock.ts';
import { mapInSlices } from '../../lib/event-loop.ts';
import { createUuid } from '../uuids.ts';
import { prepareFindAccount } from './accounts.ts';
import type { Connection, SqlValue } from './connection.ts';
import { violatedConstraint } from './errors.ts';
import { encodeFields, FIELD_DEFAULTS } from './lead-columns.ts';
import type { ReadCache } from './read-cache.ts';
import { prepareStamps, type Stamps } from './stamps.ts';

const FIELDS = FIELD_COLUMNS.map(({ column }) => column);
/** The columns that an update may change. */
const CONTENT_COLUMNS = ['branch_id', 'department_id', 'status_value', ...FIELDS, 'updated_at'];
const COLUMNS = [
  ...['company_id', 'id', 'created_at', 'automation_trigger_id', 'automation_created_at'],
  ...CONTENT_COLUMNS,
];

interface ExistingRow extends Record<string, SqlValue> {
  created_at: number;
  branch_id: string | null;
  department_id: string | null;
  status_value: string;
  updated_at: number;
}

const toPlacement = (row: ExistingRow): Placement => ({
  branchId: row.branch_id,
  departmentId: row.department_id,
  statusValue: row.status_value,
});

/** Reads each place once. Most leads name one of a few places. */
function prepareOrganisationLookup(connection: Connection, cache: ReadCache): OrganisationLookup {
  const company = connection.prepare('SELECT 1 FROM companies WHERE id = ?');
  const branch = connection.prepare('SELECT 1 FROM branches WHERE company_id = ? AND id = ?');
  const department = connection.prepare<{ branch_id: string }>(
    'SELECT branch_id FROM departments WHERE company_id = ? AND id = ?',
  );
  const statuses = connection.prepare<StatusName>(
    'SELECT value, label FROM statuses WHERE company_id = ? ORDER BY position',
  );
  return {
    hasCompany: cache.of((companyId: string) => company.get(companyId) !== undefined),
    statuses: cache.of((companyId: string) => statuses.all(companyId)),
    hasBranch: cache.of(
      (companyId: string, branchId: string) => branch.get(companyId, branchId) !== undefined,
    ),
    branchOfDepartment: cache.of(
      (companyId: string, departmentId: string) => department.get(companyId, departmentId)?.branch_id,
    ),
  };
}

/** A lead with its fields as the columns keep them. */
interface EncodedLead {
  readonly lead: LeadInput;
  readonly fields: ReturnType<typeof encodeFields>;
}

/** Before the transaction, which holds the event loop: encoding takes as long as the inserts if custom fields are deep. */
export const encodeLeads = (leads: readonly LeadInput[]): Promise<EncodedLead[]> =>
  mapInSlices(leads, (lead) => ({ lead, fields: encodeFields(lead.fields) }));

/** A request over HTTP with its leads encoded. */
export type EncodedRequest = Omit<WriteRequest, 'leads'> & { readonly leads: readonly EncodedLead[] };

export type RequestResult = { readonly value: WriteAllOutcome } | { readonly error: unknown };

/** What the writes share that are committed or rolled back together. */
interface LeadBatch {
  readonly now: number;
  readonly stamps: Stamps;
}

interface LeadRules extends WriteOptions {
  /** Leads outside of it are rejected. */
  readonly scope?: LeadScope;
}

/** Writes batches of leads: each is durable as a whole, or not written at all. */
export class LeadWriter {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #cache: ReadCache;
  readonly #findSender;
  readonly #organisation: OrganisationLookup;
  readonly #resolveNew;
  /** Whether a company has erased leads at all: only then the ids of its leads are hashed. */
  readonly #hasErased;
  readonly #beginStamps;
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #findErased;
  readonly #forgetErased;
  readonly #findKey;
  readonly #addKey;
  readonly #pruneKeys;

  constructor(connection: Connection, cache: ReadCache, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
    this.#cache = cache;
    this.#findSender = cache.of(prepareFindAccount(connection), ({ userId, tokenId }) => [userId, tokenId]);
    this.#organisation = prepareOrganisationLookup(connection, cache);
    // Resolving the place of each of 1,000 leads took 9 of 54 ms.
    this.#resolveNew = cache.of(
      (lead: LeadInput, scope?: LeadScope) => resolvePlacement(lead, undefined, this.#organisation, scope),
      ({ companyId, branchId, departmentId, statusValue }, scope) => [
        ...[companyId, branchId, departmentId, statusValue],
        scope,
      ],
    );
    this.#beginStamps = prepareStamps(connection);
    this.#find = connection.prepare<ExistingRow>(
      `SELECT created_at, ${CONTENT_COLUMNS.join(', ')} FROM leads WHERE company_id = ? AND id = ?`,
    );
    this.#insert = connection.prepare(
      `INSERT INTO leads (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`,
    );
    this.#update = connection.prepare(
      `UPDATE leads SET ${CONTENT_COLUMNS.map((column) => `${column} = ?`).join(', ')}
        WHERE company_id = ? AND created_at = ?`,
    );
    this.#findKey = connection.prepare<StoredRequest>(
      'SELECT body_hash, results FROM idempotency_keys WHERE company_id = ? AND key_hash = ?',
    );
    this.#addKey = connection.prepare(
      'INSERT INTO idempotency_keys (company_id, key_hash, body_hash, results, used_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#pruneKeys = connection.prepare(
      `DELETE FROM idempotency_keys WHERE company_id = ? AND key_hash IN
         (SELECT key_hash FROM idempotency_keys WHERE company_id = ? AND used_at < ? ORDER BY used_at LIMIT ?)`,
    );
    const anyErased = connection.prepare('SELECT 1 FROM erased_leads WHERE company_id = ? LIMIT 1');
    this.#hasErased = cache.of((companyId: string) => anyErased.get(companyId) !== undefined);
    this.#findErased = connection.prepare('SELECT 1 FROM erased_leads WHERE company_id = ? AND id_hash = ?');
    this.#forgetErased = connection.prepare('DELETE FROM erased_leads WHERE company_id = ? AND id_hash = ?');
  }

  /** The caller holds the write lock, before the clock is read (D2, D3). */
  #inBatch<T>(work: (batch: LeadBatch) => T): T {
    this.#cache.revalidate();
    const now = this.#clock();
    const stamps = this.#beginStamps(now);
    const result = work({ now, stamps });
    stamps.save();
    return result;
  }

  write(leads: readonly EncodedLead[], options: WriteOptions): WriteOutcome {
    return this.#inBatch((batch) => ({
      kind: 'written',
      results: leads.map((lead) => this.#writeLead(lead, options, batch)),
    }));
  }

  /** Throws if one of them fails, and the caller rolls back all of them. */
  writeTogether(requests: readonly EncodedRequest[]): RequestResult[] {
    return this.#inBatch((batch) =>
      requests.map((request) => ({ value: this.#writeRequest(request, batch) })),
    );
  }

  /** Only those that fail are rolled back. */
  writeEach(requests: readonly EncodedRequest[]): RequestResult[] {
    return requests.map((request) =>
      this.#connection.savepoint(() => this.#inBatch((batch) => this.#writeRequest(request, batch))),
    );
  }

  /** Throws `LeadsRejected` or `KeyReused`. */
  #writeRequest(
    { leads: encoded, scope, sender, idempotency }: EncodedRequest,
    batch: LeadBatch,
  ): WriteAllOutcome {
    const { companyId } = scope;
    if (sender && !mayWrite(this.#findSender(sender), sender.userId, scope))
      return { kind: 'account-changed' };
    const leads = encoded.map(({ lead }) => lead);
    const found = idempotency && this.#findKey.get(companyId, idempotency.keyHash);
    const repeated = idempotency && repeatedOutcome(found, idempotency, leads);
    if (repeated) return repeated;
    const written = encoded.map((lead) => this.#writeLead(lead, { scope }, batch));
    const results = requireAllWritten({ leads, idempotency }, written, this.#organisation);
    if (idempotency) {
      const { keyHash, bodyHash } = idempotency;
      const now = this.#clock();
      this.#addKey.run(companyId, keyHash, bodyHash, encodeResults(results), now);
      this.#pruneKeys.run(companyId, companyId, now - KEY_RETENTION_MS, MAX_KEYS_PRUNED);
    }
    return { kind: 'written', results };
  }

  /** What `write` would do. Writes nothing, so it needs no lock. */
  plan(leads: readonly LeadInput[], options: WriteOptions): PlannedLead[] {
    this.#cache.revalidate();
    return leads.map((lead) => {
      const existing = lead.id === undefined ? undefined : this.#find.get(lead.companyId, lead.id);
      const placed = resolvePlacement(lead, existing && toPlacement(existing), this.#organisation);
      if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
      const [problem] = [...this.#findErasedId(lead, options), ...(existing ? [] : findNoContent(lead))];
      if (problem) return { kind: 'rejected', problem };
      const { branchId, departmentId } = placed.placement;
      return { kind: existing ? 'updated' : 'added', branchId, departmentId };
    });
  }

  /** Not for a lead that exists: another program may have added it. */
  #isErased({ companyId, id }: LeadInput): boolean {
    if (id === undefined || this.#findErased.get(companyId, hashErasedId(id)) === undefined) return false;
    return this.#find.get(companyId, id) === undefined;
  }

  /** All problems of a lead. Writes nothing. */
  findProblems(lead: LeadInput, options: FindProblemsOptions): PlacementProblem[] {
    this.#cache.revalidate();
    return [
      ...findPlacementProblems(lead, this.#organisation),
      ...this.#findOutsideScope(lead, options),
      ...this.#findErasedId(lead, options),
    ];
  }

  /** The problem of a lead that was erased and may not be added again. */
  #findErasedId(lead: LeadInput, { allowErased = false }: WriteOptions): PlacementProblem[] {
    if (allowErased || lead.id === undefined || !this.#isErased(lead)) return [];
    return [{ field: 'id', reason: 'erased', value: lead.id }];
  }

  /** The problem of a lead that exists outside of the scope. */
  #findOutsideScope(lead: LeadInput, { scope }: FindProblemsOptions): PlacementProblem[] {
    if (!scope || lead.id === undefined) return [];
    const existing = this.#find.get(lead.companyId, lead.id);
    return findOutsideScope(lead, existing && toPlacement(existing), scope);
  }

  #writeLead(encoded: EncodedLead, rules: LeadRules, batch: LeadBatch): LeadResult {
    try {
      return this.#writeValidLead(encoded, rules, batch);
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === undefined) throw error;
      const value = encoded.lead.id ?? '';
      return { kind: 'rejected', problem: { field: 'id', reason: 'not-stored', value, constraint } };
    }
  }

  #writeValidLead(encoded: EncodedLead, rules: LeadRules, batch: LeadBatch): LeadResult {
    const { lead } = encoded;
    const { companyId, id } = lead;
    const existing = id === undefined ? undefined : this.#find.get(companyId, id);
    if (existing && id !== undefined) return this.#change(encoded, id, existing, rules, batch);
    const placed = this.#resolveNew(lead, rules.scope);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    const erasedHash = id !== undefined && this.#hasErased(companyId) ? hashErasedId(id) : undefined;
    const isErased = erasedHash !== undefined && this.#findErased.get(companyId, erasedHash) !== undefined;
    if (id !== undefined && isErased && !rules.allowErased)
      return { kind: 'rejected', problem: { field: 'id', reason: 'erased', value: id } };
    const [noContent] = findNoContent(lead);
    if (noContent) return { kind: 'rejected', problem: noContent };
    const added = this.#add(encoded, placed.placement, rules, batch);
    // A lead that is rejected stays erased.
    if (isErased && added.kind === 'added') this.#forgetErased.run(companyId, erasedHash);
    return added;
  }

  #add(
    { lead, fields }: EncodedLead,
    placement: Placement,
    { historical }: LeadRules,
    { now, stamps }: LeadBatch,
  ): LeadResult {
    const { companyId } = lead;
    const wanted = historical ? lead.createdAt : undefined;
    const createdAt = wanted === undefined ? stamps.next(companyId) : stamps.firstFree(companyId, wanted);
    const [inFuture] = wanted === undefined ? [] : findFutureCreatedAt(createdAt, now);
    if (inFuture) return { kind: 'rejected', problem: inFuture };
    const receivedAt = wanted === undefined ? createdAt : now;
    const id = lead.id ?? createUuid(receivedAt);
    this.#insert.run(
      ...[companyId, id, createdAt, createUuid(receivedAt), receivedAt],
      ...[placement.branchId, placement.departmentId, placement.statusValue],
      ...FIELD_DEFAULTS.map((value, index) => fields[index] ?? value),
      createdAt,
    );
    stamps.take(companyId, createdAt);
    return { kind: 'added', id, createdAt };
  }

  #change(
    { lead, fields: given }: EncodedLead,
    id: string,
    existing: ExistingRow,
    { scope }: LeadRules,
    { now }: LeadBatch,
  ): LeadResult {
    const { created_at: createdAt } = existing;
    const placed = resolvePlacement(lead, toPlacement(existing), this.#organisation, scope);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    const { branchId, departmentId, statusValue } = placed.placement;
    const fields = FIELDS.map((column, index) => {
      const value = given[index];
      return value === undefined ? (existing[column] ?? null) : value;
    });
    // Stamps may be ahead of the clock; `updatedAt` is never before `createdAt`.
    const updatedAt = Math.max(now, existing.updated_at, createdAt);
    this.#update.run(branchId, departmentId, statusValue, ...fields, updatedAt, lead.companyId, createdAt);
    return { kind: 'updated', id, createdAt };
  }
}
