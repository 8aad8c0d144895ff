import {
  encodeResults,
  KEY_RETENTION_MS,
  MAX_KEYS_PRUNED,
  repeatedOutcome,
  type StoredRequest,
} from '../../intake/idempotency.ts';
import type { WriteAllOutcome } from '../../intake/store.ts';
import { requireAllWritten, type WriteRequest } from '../../intake/write-all.ts';
import { mayWrite } from '../../leads/access.ts';
import { findOtherPerson, type PersonRow } from '../../leads/other-person.ts';
import {
  findFutureCreatedAt,
  findNotAddable,
  type LeadLookup,
  type OrganisationLookup,
  type Placement,
  type PlacementRow,
  resolvePlacement,
  type StatusName,
  toPlacement,
} from '../../leads/placement.ts';
import type { LeadInput, LeadScope } from '../../leads/record.ts';
import { hashErasedId } from '../../leads/removal.ts';
import { FIELD_COLUMNS } from '../../leads/row.ts';
import type { LeadResult, ScopedWriteOptions, WriteOptions, WriteOutcome } from '../../leads/store.ts';
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

type ExistingRow = Record<string, SqlValue> &
  PlacementRow &
  PersonRow & { created_at: number; updated_at: number };

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

/** Only if a company has erased leads at all, the ids of its leads are hashed. */
function prepareIsErased(connection: Connection, cache: ReadCache): LeadLookup['isErased'] {
  const anyErased = connection.prepare('SELECT 1 FROM erased_leads WHERE company_id = ? LIMIT 1');
  const hasErased = cache.of((companyId: string) => anyErased.get(companyId) !== undefined);
  const erased = connection.prepare('SELECT 1 FROM erased_leads WHERE company_id = ? AND id_hash = ?');
  return (companyId, id) => hasErased(companyId) && erased.get(companyId, hashErasedId(id)) !== undefined;
}

/** A lead with its fields as the columns keep them. */
interface EncodedLead {
  readonly lead: LeadInput;
  readonly fields: ReturnType<typeof encodeFields>;
}

/** Before the transaction, which holds the event loop: encoding takes as long as the inserts if custom fields are deep. */
export const encodeLeads = (leads: readonly LeadInput[], companyId?: string): Promise<EncodedLead[]> =>
  mapInSlices(leads, (lead) => ({ lead, fields: encodeFields(lead.fields) }), companyId);

/** A request over HTTP with its leads encoded. */
export type EncodedRequest = Omit<WriteRequest, 'leads'> & { readonly leads: readonly EncodedLead[] };

export type RequestResult = { readonly value: WriteAllOutcome } | { readonly error: unknown };

/** What the writes share that are committed or rolled back together. */
interface LeadBatch {
  readonly now: number;
  readonly stamps: Stamps;
}

/** Writes batches of leads: each is durable as a whole, or not written at all. */
export class LeadWriter {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #cache: ReadCache;
  readonly #findSender;
  readonly #lookup: LeadLookup;
  readonly #resolveNew;
  readonly #beginStamps;
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #forgetErased;
  readonly #findKey;
  readonly #addKey;
  readonly #pruneKeys;

  constructor(connection: Connection, cache: ReadCache, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
    this.#cache = cache;
    this.#findSender = cache.of(prepareFindAccount(connection), ({ userId, tokenId }) => [userId, tokenId]);
    // Resolving the place of each of 1,000 leads took 9 of 54 ms.
    this.#resolveNew = cache.of(
      (lead: LeadInput, scope?: LeadScope) => resolvePlacement(lead, undefined, this.#lookup, scope),
      ({ companyId, branchId, departmentId, statusValue }, scope) => [
        ...[companyId, branchId, departmentId, statusValue],
        scope,
      ],
    );
    this.#beginStamps = prepareStamps(connection);
    this.#lookup = {
      ...prepareOrganisationLookup(connection, cache),
      isErased: prepareIsErased(connection, cache),
      findExisting: (companyId, id) => this.#find.get(companyId, id),
    };
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
    const results = requireAllWritten({ leads, idempotency }, written, this.#lookup);
    if (idempotency) {
      const { keyHash, bodyHash } = idempotency;
      const now = this.#clock();
      this.#addKey.run(companyId, keyHash, bodyHash, encodeResults(results), now);
      this.#pruneKeys.run(companyId, companyId, now - KEY_RETENTION_MS, MAX_KEYS_PRUNED);
    }
    return { kind: 'written', results };
  }

  /** For reads without a lock. Get it again in each turn of the event loop. */
  get lookup(): LeadLookup {
    this.#cache.revalidate();
    return this.#lookup;
  }

  #writeLead(encoded: EncodedLead, rules: ScopedWriteOptions, batch: LeadBatch): LeadResult {
    try {
      return this.#writeValidLead(encoded, rules, batch);
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === undefined) throw error;
      const value = encoded.lead.id ?? '';
      return { kind: 'rejected', problem: { field: 'id', reason: 'not-stored', value, constraint } };
    }
  }

  #writeValidLead(encoded: EncodedLead, rules: ScopedWriteOptions, batch: LeadBatch): LeadResult {
    const { lead } = encoded;
    const { companyId, id } = lead;
    const existing = id === undefined ? undefined : this.#find.get(companyId, id);
    if (existing && id !== undefined) return this.#change(encoded, id, existing, rules, batch);
    const placed = this.#resolveNew(lead, rules.scope);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    const [notAddable] = findNotAddable(lead, this.#lookup, rules);
    if (notAddable) return { kind: 'rejected', problem: notAddable };
    const added = this.#add(encoded, placed.placement, rules, batch);
    // A lead that is rejected stays erased.
    if (rules.allowErased && id !== undefined && added.kind === 'added')
      this.#forgetErased.run(companyId, hashErasedId(id));
    return added;
  }

  #add(
    { lead, fields }: EncodedLead,
    placement: Placement,
    { historical }: ScopedWriteOptions,
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
    { scope }: ScopedWriteOptions,
    { now }: LeadBatch,
  ): LeadResult {
    const { created_at: createdAt } = existing;
    const placed = resolvePlacement(lead, toPlacement(existing), this.#lookup, scope);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    const [problem] = findOtherPerson(lead, existing, scope);
    if (problem) return { kind: 'rejected', problem };
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
