import { idInCompany } from '../../accounts/records.ts';
import { mapInSlices } from '../../event-loop.ts';
import {
  encodeResults,
  KEY_RETENTION_MS,
  MAX_KEYS_PRUNED,
  repeatedOutcome,
  requireUnusedKey,
  type StoredRequest,
} from '../../intake/idempotency.ts';
import type { IdempotentRequest, WriteAllOutcome } from '../../intake/store.ts';
import { requireAllWritten, toRejection } from '../../intake/write-all.ts';
import { mayWrite } from '../../leads/access.ts';
import {
  findNoContent,
  findOutsideScope,
  findPlacementProblems,
  inFuture,
  isInFuture,
  type Place,
  type Places,
  resolvePlace,
} from '../../leads/placement.ts';
import type { LeadFields, LeadInput, LeadScope } from '../../leads/record.ts';
import {
  type ColumnKind,
  DEFAULT_LEAD_FIELDS,
  FIELD_COLUMNS,
  type LeadFieldsRow,
  toLeadFields,
  toLeadFieldsRow,
} from '../../leads/row.ts';
import type { LeadResult, WriteOptions, WrittenLead } from '../../leads/store.ts';
import { StoreUnavailableError } from '../errors.ts';
import type { Store } from '../store.ts';
import { createUuid } from '../uuids.ts';
import { lockAccount } from './accounts.ts';
import { type Database, LOCK_TIMEOUT_MS, lockCompanies, type Session } from './connection.ts';
import { LockQueue } from './lock-queue.ts';
import {
  companiesOf,
  forgetErased,
  type PlacedRow,
  readErased,
  readPlaces,
  readPlacesOfLeads,
  toKeyColumns,
  toPlace,
} from './write-lookups.ts';

/** The types of columns, as `json_to_recordset` reads them. */
export const RECORD_TYPES: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  boolean: 'boolean',
  time: 'bigint',
  json: 'jsonb',
  texts: 'text[]',
};

const TIME_COLUMNS = new Set(FIELD_COLUMNS.filter(({ kind }) => kind === 'time').map(({ column }) => column));
const CONTENT_COLUMNS = [
  ...['branch_id', 'department_id', 'status_value'],
  ...FIELD_COLUMNS.map(({ column }) => column),
];
const contentOf = (alias: string) =>
  CONTENT_COLUMNS.map((column) =>
    TIME_COLUMNS.has(column) ? `leadtap.from_ms(${alias}.${column})` : `${alias}.${column}`,
  );
const BATCH = `json_to_recordset($1) AS b (company_id text, id text, created_at bigint,
  branch_id text, department_id text, status_value text,
  ${FIELD_COLUMNS.map(({ column, kind }) => `${column} ${RECORD_TYPES[kind]}`).join(', ')})`;

/** Without sequential scans: the foreign key checks of each lead would read small tables from end to end. */
const BEGIN_BATCH = `SELECT set_config('enable_seqscan', 'off', true), set_config('leadtap.historical', $1, true)`;

/** The rows are locked: a lead that another transaction deletes meanwhile is not found, and added again. */
const FIND_LEADS = `SELECT company_id, id, leadtap.to_ms(created_at) AS created_at,
       ${CONTENT_COLUMNS.map((column) =>
         TIME_COLUMNS.has(column) ? `leadtap.to_ms(${column}) AS ${column}` : column,
       ).join(', ')}
  FROM leadtap.leads WHERE (company_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
   ORDER BY company_id, id FOR NO KEY UPDATE`;

const UPDATE_LEADS = `UPDATE leadtap.leads AS l
  SET (${CONTENT_COLUMNS.join(', ')}) = ROW (${contentOf('b').join(', ')})
  FROM ${BATCH} WHERE l.company_id = b.company_id AND l.id = b.id`;

/** The rows are stamped in their order in the batch. */
const INSERT_LEADS = `INSERT INTO leadtap.leads (company_id, id, created_at, ${CONTENT_COLUMNS.join(', ')})
  SELECT b.company_id, b.id, leadtap.from_ms(b.created_at), ${contentOf('b').join(', ')} FROM ${BATCH}
  RETURNING company_id, id, leadtap.to_ms(created_at) AS created_at`;

interface InsertedRow {
  company_id: string;
  id: string;
  created_at: number;
}

type ExistingRow = InsertedRow & LeadFieldsRow & PlacedRow;

type IdentifiedLead = LeadInput & { readonly id: string };

/** A lead as the batch leaves it. */
interface Draft {
  readonly companyId: string;
  readonly id: string;
  place: Place;
  fields: LeadFields;
  /** For a historical lead. */
  readonly wantedCreatedAt: number | undefined;
  /** Undefined until it is inserted, and also after that if a trigger of the operator's has suppressed it. */
  stored: { readonly id: string; readonly createdAt: number } | undefined;
}

type DraftResult = Extract<LeadResult, { kind: 'rejected' }> | { kind: 'added' | 'updated'; draft: Draft };

const FIND_KEY = `SELECT body_hash, results FROM leadtap.idempotency_keys WHERE company_id = $1 AND key_hash = $2`;
const ADD_KEY = `INSERT INTO leadtap.idempotency_keys (company_id, key_hash, body_hash, results, used_at)
  VALUES ($1, $2, $3, $4, leadtap.from_ms(leadtap.clock_ms()))`;
const PRUNE_KEYS = `DELETE FROM leadtap.idempotency_keys WHERE company_id = $1 AND key_hash IN
  (SELECT key_hash FROM leadtap.idempotency_keys
    WHERE company_id = $1 AND used_at < leadtap.from_ms(leadtap.clock_ms() - $2::bigint) ORDER BY used_at LIMIT $3)`;

/** The lock of the company is held: two requests with one key come one after the other. */
async function findRequest(
  session: Session,
  companyId: string,
  { keyHash }: IdempotentRequest,
): Promise<StoredRequest | undefined> {
  const [found] = await session.query<StoredRequest>(FIND_KEY, [companyId, keyHash]);
  return found;
}

async function saveRequest(
  session: Session,
  companyId: string,
  { keyHash, bodyHash }: IdempotentRequest,
  results: readonly WrittenLead[],
): Promise<void> {
  await session.query(ADD_KEY, [companyId, keyHash, bodyHash, encodeResults(results)]);
  await session.query(PRUNE_KEYS, [companyId, KEY_RETENTION_MS, MAX_KEYS_PRUNED]);
}

type WriteMethods = Pick<Store, 'writeLeads' | 'writeAllLeads' | 'findPlacementProblems' | 'planLeads'>;

/** Further requests fail at once, so that a database that hangs does not fill the memory. */
const MAX_QUEUED_WRITES = 1000;

/** Less than half of the connections: as many as half may wait for polls, and one stays free. */
const createQueue = ({ connections }: Database): LockQueue =>
  new LockQueue(Math.max(1, Math.ceil(connections / 2) - 1), MAX_QUEUED_WRITES);

export const leadMethods = (database: Database, lockQueue = createQueue(database)): WriteMethods => ({
  async writeLeads(leads, options = {}) {
    if (leads.length === 0) return { kind: 'written', results: [] };
    return database.transaction(async (session) => {
      await beginBatch(session, leads, options);
      const { results } = await writeBatch(session, leads, options);
      return { kind: 'written', results };
    });
  },

  async writeAllLeads(leads, scope, sender, request) {
    if (leads.length === 0) return { kind: 'written', results: [] };
    const write = async (session: Session): Promise<WriteAllOutcome> => {
      await beginBatch(session, leads, {});
      // After the lock of the company: a write that waits for that lock must not delay a revocation.
      if (sender && !mayWrite(await lockAccount(session, sender), sender.userId, scope))
        return { kind: 'account-changed' };
      const found = request && (await findRequest(session, scope.companyId, request));
      const repeated = request && repeatedOutcome(found, request, leads);
      if (repeated) return repeated;
      const batch = await writeBatch(session, leads, { scope });
      const results = requireAllWritten(leads, batch.results, batch.places);
      requireUnusedKey(results, request);
      if (request) await saveRequest(session, scope.companyId, request, results);
      return { kind: 'written', results };
    };
    const outcome = await lockQueue
      .run(scope.companyId, LOCK_TIMEOUT_MS, (lockTimeoutMs) =>
        database.transaction(write, {
          lockTimeoutMs,
          // The next write of the company waits until this one ends, also if the network has lost its connection.
          statementTimeoutMs: lockTimeoutMs + database.writeLimitMs,
        }),
      )
      .catch(toRejection);
    if (!outcome)
      throw new StoreUnavailableError('too many writes of leads wait for the lock of their company');
    return outcome;
  },

  async findPlacementProblems(leads, { allowErased = false, scope } = {}) {
    const places = await readPlaces(database, leads);
    const existing = scope ? await readPlacesOfLeads(database, leads) : undefined;
    const erased = allowErased ? undefined : await readErased(database, leads, places);
    return mapInSlices(leads, (lead) => [
      ...findPlacementProblems(lead, places),
      ...findOutsideScope(lead, existing?.get(idInCompany(lead.companyId, lead.id ?? '')), scope),
      ...(lead.id !== undefined && erased?.has(idInCompany(lead.companyId, lead.id))
        ? [{ field: 'id', reason: 'erased', value: lead.id } as const]
        : []),
    ]);
  },

  async planLeads(leads, { allowErased = false } = {}) {
    const { places, existing, erased } = await database.transaction(async (session) => {
      await session.query(BEGIN_BATCH, ['']);
      const places = await readPlaces(session, leads);
      return {
        places,
        existing: await readPlacesOfLeads(session, leads),
        erased: allowErased ? new Set() : await readErased(session, leads, places),
      };
    });
    return leads.map((lead) => {
      const before = lead.id === undefined ? undefined : existing.get(idInCompany(lead.companyId, lead.id));
      const placed = resolvePlace(lead, before, places);
      if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
      if (!before && lead.id !== undefined && erased.has(idInCompany(lead.companyId, lead.id)))
        return { kind: 'rejected', problem: { field: 'id', reason: 'erased', value: lead.id } };
      const [noContent] = before ? [] : findNoContent(lead);
      if (noContent) return { kind: 'rejected', problem: noContent };
      const { branchId, departmentId } = placed.place;
      return { kind: before ? 'updated' : 'added', branchId, departmentId };
    });
  },
});

interface BatchOptions extends WriteOptions {
  /** Leads outside of it are rejected. */
  readonly scope?: LeadScope;
}

async function beginBatch(session: Session, leads: readonly LeadInput[], { historical }: WriteOptions) {
  await session.query(BEGIN_BATCH, [historical ? 'on' : '']);
  await lockCompanies(session, companiesOf(leads));
}

async function writeBatch(session: Session, leads: readonly LeadInput[], options: BatchOptions) {
  const batch = await Batch.read(session, addIds(leads));
  // The clock that stamps.
  const [clock] = options.historical
    ? await session.query<{ now: number }>('SELECT leadtap.clock_ms() AS now')
    : [];
  const results = batch.plan(options, clock?.now);
  await batch.save(session);
  return { results: results.map(toLeadResult), places: batch.places };
}

/** The id only has to sort well, so the clock of this machine will do. */
function addIds(leads: readonly LeadInput[]): IdentifiedLead[] {
  const now = Date.now();
  return leads.map((lead) => ({ ...lead, id: lead.id ?? createUuid(now) }));
}

function toLeadResult(result: DraftResult): LeadResult {
  if (result.kind === 'rejected') return result;
  const { kind, draft } = result;
  if (!draft.stored)
    return { kind: 'rejected', problem: { field: 'id', reason: 'not-stored', value: draft.id } };
  return { kind, ...draft.stored };
}

/** Merges leads with the stored ones. A lead that occurs twice in a batch is added once, with its last values. */
class Batch {
  readonly #leads: readonly IdentifiedLead[];
  readonly places: Places;
  readonly #drafts: Map<string, Draft>;
  /** By company and id: leads that were erased and do not exist. */
  readonly #erased: ReadonlySet<string>;
  readonly #added = new Set<Draft>();
  readonly #updated = new Set<Draft>();

  private constructor(
    leads: readonly IdentifiedLead[],
    places: Places,
    existing: readonly ExistingRow[],
    erased: ReadonlySet<string>,
  ) {
    this.#leads = leads;
    this.places = places;
    this.#erased = erased;
    this.#drafts = new Map(existing.map((row) => [idInCompany(row.company_id, row.id), toDraft(row)]));
  }

  static async read(session: Session, leads: readonly IdentifiedLead[]): Promise<Batch> {
    const places = await readPlaces(session, leads);
    const ids = toKeyColumns(leads, ({ id }) => id);
    const existing = await session.query<ExistingRow>(FIND_LEADS, ids);
    return new Batch(leads, places, existing, await readErased(session, leads, places));
  }

  plan(options: BatchOptions, now: number = Number.POSITIVE_INFINITY): DraftResult[] {
    return this.#leads.map((lead) => this.#planLead(lead, options, now));
  }

  #planLead(lead: IdentifiedLead, options: BatchOptions, now: number): DraftResult {
    const { historical = false, allowErased = false, scope } = options;
    const { companyId, id } = lead;
    const existing = this.#drafts.get(idInCompany(companyId, id));
    const resolved = resolvePlace(lead, existing?.place, this.places, scope);
    if ('problem' in resolved) return { kind: 'rejected', problem: resolved.problem };
    if (existing) {
      existing.place = resolved.place;
      existing.fields = { ...existing.fields, ...lead.fields };
      if (!this.#added.has(existing)) this.#updated.add(existing);
      return { kind: 'updated', draft: existing };
    }
    if (!allowErased && this.#erased.has(idInCompany(companyId, id)))
      return { kind: 'rejected', problem: { field: 'id', reason: 'erased', value: id } };
    const [noContent] = findNoContent(lead);
    if (noContent) return { kind: 'rejected', problem: noContent };
    if (historical && lead.createdAt !== undefined && isInFuture(lead.createdAt, now))
      return { kind: 'rejected', problem: inFuture(lead.createdAt) };
    const draft: Draft = {
      companyId,
      id,
      place: resolved.place,
      fields: { ...DEFAULT_LEAD_FIELDS, ...lead.fields },
      wantedCreatedAt: historical ? lead.createdAt : undefined,
      stored: undefined,
    };
    this.#drafts.set(idInCompany(companyId, id), draft);
    this.#added.add(draft);
    return { kind: 'added', draft };
  }

  async save(session: Session): Promise<void> {
    if (this.#updated.size > 0) await session.query(UPDATE_LEADS, [await toJson([...this.#updated])]);
    if (this.#added.size === 0) return;
    const added = [...this.#added];
    const again = added.filter(({ companyId, id }) => this.#erased.has(idInCompany(companyId, id)));
    await forgetErased(session, again);
    const rows = await session.query<InsertedRow>(INSERT_LEADS, [await toJson(added)]);
    for (const [index, { company_id, id, created_at: createdAt }] of rows.entries()) {
      // A trigger of the operator's may have changed the company or the id; if no row is missing, rows are matched by their order.
      const draft =
        rows.length === added.length ? added[index] : this.#drafts.get(idInCompany(company_id, id));
      if (draft) draft.stored = { id, createdAt };
    }
  }
}

const toDraft = (row: ExistingRow): Draft => ({
  companyId: row.company_id,
  id: row.id,
  place: toPlace(row),
  fields: toLeadFields(row),
  wantedCreatedAt: undefined,
  stored: { id: row.id, createdAt: row.created_at },
});

/** In slices, because `JSON.stringify` of a whole batch blocks the event loop. */
async function toJson(drafts: readonly Draft[]): Promise<string> {
  const rows = await mapInSlices(drafts, ({ companyId, id, place, fields, wantedCreatedAt }) =>
    JSON.stringify({
      company_id: companyId,
      id,
      created_at: wantedCreatedAt ?? null,
      branch_id: place.branchId,
      department_id: place.departmentId,
      status_value: place.statusValue,
      ...toLeadFieldsRow(fields),
    }),
  );
  return `[${rows.join(',')}]`;
}
