import { idInCompany, type VerifiedToken } from '../../accounts/records.ts';
import {
  encodeResults,
  KEY_RETENTION_MS,
  MAX_KEYS_PRUNED,
  repeatedOutcome,
  requireUnusedKey,
} from '../../intake/idempotency.ts';
import type { IdempotentRequest, WriteAllOutcome } from '../../intake/store.ts';
import { LeadsRejected, requireAllWritten, toRejection } from '../../intake/write-all.ts';
import { mayWrite } from '../../leads/access.ts';
import {
  findNoContent,
  findOutsideScope,
  findPlacementProblems,
  inFuture,
  isInFuture,
  type Place,
  resolvePlace,
} from '../../leads/placement.ts';
import type { LeadFields, LeadInput, LeadScope } from '../../leads/record.ts';
import { hashErasedId } from '../../leads/removal.ts';
import { DEFAULT_LEAD_FIELDS, toLeadFields, toLeadFieldsRow } from '../../leads/row.ts';
import type { LeadResult, WriteOptions, WrittenLead } from '../../leads/store.ts';
import { mapInSlices } from '../../lib/event-loop.ts';
import type { Store } from '../store.ts';
import { createUuid } from '../uuids.ts';
import type { Database, Session, SqlValue, TransactionSession } from './connection.ts';
import { isLockBusy, isUnavailableForSome, violatedConstraint } from './errors.ts';
import { type AttemptOptions, GroupCommit, SHARED_QUEUES, WriteQueues } from './group-commit.ts';
import { UPDATE_LEADS } from './lead-functions.ts';
import { LockQueue } from './lock-queue.ts';
import { type BatchRow, type ExistingRow, Lookup, lookupOf, readLookup, toPlace } from './write-lookups.ts';

/** Without sequential scans: the foreign key checks of each lead would read small tables from end to end. */
const settingsOf = ({ historical = false }: WriteOptions): string =>
  `SET LOCAL enable_seqscan = off; SET LOCAL leadtap.historical = '${historical ? 'on' : ''}'`;

const ADD_LEADS = 'SELECT * FROM leadtap.add_leads($1, $2)';

const FORGET_ERASED = `DELETE FROM leadtap.erased_leads
  WHERE (company_id, id_hash) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;

const ADD_KEYS = `WITH pruned AS (
    DELETE FROM leadtap.idempotency_keys WHERE (company_id, key_hash) IN
      (SELECT old.* FROM unnest($1::text[]) AS company CROSS JOIN LATERAL
         (SELECT k.company_id, k.key_hash FROM leadtap.idempotency_keys AS k
           WHERE k.company_id = company AND k.used_at < leadtap.from_ms(leadtap.clock_ms() - $5::bigint)
           ORDER BY k.used_at LIMIT $6) AS old))
  INSERT INTO leadtap.idempotency_keys (company_id, key_hash, body_hash, results, used_at)
  SELECT k.*, leadtap.from_ms(leadtap.clock_ms()) FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k`;

interface AddedRow {
  company_id: string;
  id: string;
  created_at: number;
}

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

type Rejected = Extract<LeadResult, { kind: 'rejected' }>;
interface AcceptedDraft {
  readonly kind: 'added' | 'updated';
  readonly draft: Draft;
}

/** The leads of one request over HTTP. */
interface WriteRequest {
  readonly leads: readonly LeadInput[];
  readonly scope: LeadScope;
  readonly sender: VerifiedToken | undefined;
  readonly request: IdempotentRequest | undefined;
  /** The same for all requests of a group. */
  readonly isShared: boolean;
}

type WriteMethods = Pick<Store, 'writeLeads' | 'writeAllLeads' | 'findPlacementProblems' | 'planLeads'>;

/** Further requests fail at once, so that a database that hangs does not fill the memory. */
const MAX_QUEUED_WRITES = 1000;

function createGroups(
  database: Database,
  connections: number,
): GroupCommit<WriteRequest, WriteAllOutcome | undefined> {
  const lockQueue = new LockQueue(Math.max(1, connections), MAX_QUEUED_WRITES);
  return new GroupCommit(lockQueue, countGroup, (requests, options) =>
    writeGroup(database, requests, options),
  );
}

export function leadMethods(database: Database): WriteMethods {
  // Less than half of the connections: as many as half may wait for polls.
  const connections = Math.ceil(database.connections / 2) - 1;
  // Writes that wait for companies that are locked for long must not occupy the connections of the others, or fill their queue.
  const sharedGroups = createGroups(database, Math.min(SHARED_QUEUES, connections));
  const ownGroups = createGroups(database, connections - 1);
  const queues = new WriteQueues();
  return {
    async writeLeads(leads, options = {}) {
      return { kind: 'written', results: await writeLeads(database, leads, options) };
    },

    async writeAllLeads(leads, scope, sender, request) {
      if (leads.length === 0) return { kind: 'written', results: [] };
      return queues.write(scope.companyId, leads.length <= MAX_SHARED_LEADS, (queue, isShared) =>
        (isShared ? sharedGroups : ownGroups).write(queue, { leads, scope, sender, request, isShared }),
      );
    },

    async findPlacementProblems(leads, { allowErased = false, scope } = {}) {
      const lookup = await readLookup(database, leads);
      return mapInSlices(leads, (lead) => {
        const key = idInCompany(lead.companyId, lead.id ?? '');
        const existing = lookup.existing.get(key);
        return [
          ...findPlacementProblems(lead, lookup),
          ...findOutsideScope(lead, existing && toPlace(existing), scope),
          ...(lead.id !== undefined && !allowErased && lookup.erased.has(key) ? [erased(lead.id)] : []),
        ];
      });
    },

    async planLeads(leads, { allowErased = false } = {}) {
      const lookup = await database.transaction((session) => readLookup(session, leads));
      return leads.map((lead) => {
        const key = idInCompany(lead.companyId, lead.id ?? '');
        const before = lead.id === undefined ? undefined : lookup.existing.get(key);
        const placed = resolvePlace(lead, before && toPlace(before), lookup);
        if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
        if (!before && lead.id !== undefined && !allowErased && lookup.erased.has(key))
          return { kind: 'rejected', problem: erased(lead.id) };
        const [noContent] = before ? [] : findNoContent(lead);
        if (noContent) return { kind: 'rejected', problem: noContent };
        const { branchId, departmentId } = placed.place;
        return { kind: before ? 'updated' : 'added', branchId, departmentId };
      });
    },
  };
}

/** If one violates a constraint, the two halves are written apart, until that lead is alone. */
async function writeLeads(
  database: Database,
  leads: readonly LeadInput[],
  options: WriteOptions,
): Promise<readonly LeadResult[]> {
  const [first, ...others] = leads;
  if (!first) return [];
  const write = async (session: Session, [row]: BatchRow[]) => {
    const batch = new Batch(leads, new Lookup(row), options);
    await forgetErased(session, batch.readded);
    await saveDrafts([batch], false, (text, values) => session.query(text, values));
    return batch.results();
  };
  const opening = lookupOf(leads, { lockMode: 'wait' });
  try {
    return await database.transaction(write, { settings: settingsOf(options), opening });
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === undefined) throw error;
    if (others.length === 0) return [{ kind: 'rejected', problem: notStored(first.id ?? '', constraint) }];
    const half = Math.ceil(leads.length / 2);
    return [
      ...(await writeLeads(database, leads.slice(0, half), options)),
      ...(await writeLeads(database, leads.slice(half), options)),
    ];
  }
}

const notStored = (id: string, constraint: string) =>
  ({ field: 'id', reason: 'not-stored', value: id, constraint }) as const;

const erased = (id: string) => ({ field: 'id', reason: 'erased', value: id }) as const;

/** A longer transaction would delay polls of its companies, and gain little. */
const MAX_LEADS_IN_GROUP = 100;
/** A request with more of them would delay other companies. */
const MAX_SHARED_LEADS = 10;
/** How long a group of several companies waits for any lock. */
const SHARED_LOCK_TIMEOUT_MS = 50;

/** Requests with the same id or key come one after the other: the second one depends on what the first one has written. */
function countGroup(requests: readonly WriteRequest[]): number {
  let leadCount = 0;
  const used = new Set<string>();
  const end = requests.findIndex(({ leads, request }, index) => {
    const names = [
      ...leads.flatMap(({ companyId, id }) => (id === undefined ? [] : idInCompany(companyId, id))),
      ...(request ? [request.keyHash] : []),
    ];
    leadCount += leads.length;
    if (index > 0 && (leadCount > MAX_LEADS_IN_GROUP || names.some((name) => used.has(name)))) return true;
    for (const name of names) used.add(name);
    return false;
  });
  return end === -1 ? requests.length : end;
}

/** A request of a group: decided without writing (undefined if its company is busy), or to be written. */
type PlannedRequest =
  | { readonly outcome: WriteAllOutcome | undefined }
  | { readonly batch: Batch; readonly key: ReturnType<typeof keyOf> | undefined };

function planRequest(
  { leads, scope, sender, request }: WriteRequest,
  index: number,
  lookup: Lookup,
): PlannedRequest {
  if (lookup.busy.has(scope.companyId)) return { outcome: undefined };
  const account = lookup.accounts[index];
  if (sender && !(account && mayWrite(account, sender.userId, scope)))
    return { outcome: { kind: 'account-changed' } };
  const repeated = request && repeatedOutcome(lookup.request(request.keyHash), request, leads);
  if (repeated) return { outcome: repeated };
  try {
    const batch = new Batch(leads, lookup, { scope });
    const accepted = requireAllWritten(leads, batch.planned, lookup);
    requireUnusedKey(
      accepted.map(({ kind, draft }) => ({ kind, id: draft.id })),
      request,
    );
    return { batch, key: request && keyOf(scope, request) };
  } catch (error) {
    return { outcome: toRejection(error) };
  }
}

/** Writes the leads of each request, or none of them; none depends on another. Returns undefined for those that were skipped. */
async function writeGroup(
  database: Database,
  requests: readonly WriteRequest[],
  { lockTimeoutMs, failure }: AttemptOptions,
): Promise<(WriteAllOutcome | undefined)[]> {
  const isRetry = failure !== undefined;
  const write = async (session: TransactionSession, [row]: BatchRow[]) => {
    const lookup = new Lookup(row);
    const planned = requests.map((request, index) => planRequest(request, index, lookup));
    const written = planned.flatMap((plan) => ('batch' in plan ? [plan] : []));
    const withKey = written.flatMap(({ batch, key }) => (key ? [{ batch, key }] : []));
    // A retry looks at what was stored before it commits.
    const send: Send = (text, values, isLast) =>
      isLast && !isRetry ? session.queryAndCommit(text, values) : session.query(text, values);
    if (violatedConstraint(failure) !== undefined)
      for (const { batch } of written) await saveOneByOne(batch, send);
    else
      await saveDrafts(
        written.map(({ batch }) => batch),
        !isRetry,
        (text, values, isLast) => send(text, values, isLast && withKey.length === 0),
      );
    const outcomes = planned.map((plan) =>
      'outcome' in plan ? plan.outcome : ({ kind: 'written', results: plan.batch.written() } as const),
    );
    if (withKey.length > 0)
      await send(
        ADD_KEYS,
        [
          withKey.map(({ key }) => key.companyId),
          withKey.map(({ key }) => key.keyHash),
          withKey.map(({ key }) => key.bodyHash),
          withKey.map(({ batch }) => encodeResults(batch.written())),
          KEY_RETENTION_MS,
          MAX_KEYS_PRUNED,
        ],
        true,
      );
    return outcomes;
  };
  const isShared = requests.some((request) => request.isShared);
  const timeoutMs = isShared ? Math.min(lockTimeoutMs, SHARED_LOCK_TIMEOUT_MS) : lockTimeoutMs;
  try {
    return await database.transaction(write, {
      settings: settingsOf({}),
      opening: lookupOf(
        requests.flatMap(({ leads }) => leads),
        {
          lockMode: isShared ? 'skip' : 'wait',
          senders: requests.map(({ sender }) => sender),
          keys: requests.flatMap(({ scope, request }) => (request ? keyOf(scope, request) : [])),
        },
      ),
      lockTimeoutMs: timeoutMs,
      // The next write of the company waits until this one ends, also if the network has lost its connection.
      statementTimeoutMs: timeoutMs + database.writeLimitMs,
    });
  } catch (error) {
    const isSkipped = requests.length > 1 ? isUnavailableForSome(error) : isLockBusy(error);
    return isShared && isSkipped ? requests.map(() => undefined) : [toRejection(error)];
  }
}

const keyOf = ({ companyId }: LeadScope, { keyHash, bodyHash }: IdempotentRequest) => ({
  companyId,
  keyHash,
  bodyHash,
});

interface BatchOptions extends WriteOptions {
  /** Leads outside of it are rejected. */
  readonly scope?: LeadScope;
}

/** The id only has to sort well, so the clock of this machine will do. */
function addIds(leads: readonly LeadInput[]): IdentifiedLead[] {
  const now = Date.now();
  return leads.map((lead) => ({ ...lead, id: lead.id ?? createUuid(now) }));
}

/** Merges leads with the stored ones. A lead that occurs twice in a batch is added once, with its last values. */
class Batch {
  readonly added = new Set<Draft>();
  readonly updated = new Set<Draft>();
  /** One for each lead, in the same order. */
  readonly planned: readonly (AcceptedDraft | Rejected)[];
  readonly #leads: readonly IdentifiedLead[];
  readonly #lookup: Lookup;
  /** By company and id. */
  readonly #drafts = new Map<string, Draft>();

  constructor(leads: readonly LeadInput[], lookup: Lookup, options: BatchOptions) {
    this.#leads = addIds(leads);
    this.#lookup = lookup;
    this.planned = this.#leads.map((lead) => this.#plan(lead, options));
  }

  /** Leads that were erased, and are added again. */
  get readded(): readonly Draft[] {
    return [...this.added].filter(({ companyId, id }) => this.#lookup.erased.has(idInCompany(companyId, id)));
  }

  /** After the batch is saved. */
  results(): LeadResult[] {
    return this.planned.map((result) => {
      if (result.kind === 'rejected') return result;
      const { kind, draft } = result;
      if (draft.stored) return { kind, ...draft.stored };
      return { kind: 'rejected', problem: { field: 'id', reason: 'not-stored', value: draft.id } };
    });
  }

  /** After the batch is saved. Throws `LeadsRejected` if a trigger has suppressed a lead. */
  written(): WrittenLead[] {
    return requireAllWritten<WrittenLead>(this.#leads, this.results(), this.#lookup);
  }

  /** A lead of the batch violates a constraint. */
  rejectionOf(violating: Draft, constraint: string): LeadsRejected {
    const results = this.planned.map((result) =>
      result.kind !== 'rejected' && result.draft === violating
        ? ({ kind: 'rejected', problem: notStored(violating.id, constraint) } as const)
        : result,
    );
    return new LeadsRejected(this.#leads, results, this.#lookup);
  }

  #findDraft({ companyId, id }: IdentifiedLead): Draft | undefined {
    const key = idInCompany(companyId, id);
    const existing = this.#lookup.existing.get(key);
    const draft = this.#drafts.get(key) ?? (existing && toDraft(existing));
    if (draft) this.#drafts.set(key, draft);
    return draft;
  }

  #plan(lead: IdentifiedLead, options: BatchOptions): AcceptedDraft | Rejected {
    const { historical = false, allowErased = false, scope } = options;
    const { companyId, id } = lead;
    const existing = this.#findDraft(lead);
    const resolved = resolvePlace(lead, existing?.place, this.#lookup, scope);
    if ('problem' in resolved) return { kind: 'rejected', problem: resolved.problem };
    if (existing) {
      existing.place = resolved.place;
      existing.fields = { ...existing.fields, ...lead.fields };
      if (!this.added.has(existing)) this.updated.add(existing);
      return { kind: 'updated', draft: existing };
    }
    if (!allowErased && this.#lookup.erased.has(idInCompany(companyId, id)))
      return { kind: 'rejected', problem: erased(id) };
    const [noContent] = findNoContent(lead);
    if (noContent) return { kind: 'rejected', problem: noContent };
    // Compared with the clock that stamps.
    if (historical && lead.createdAt !== undefined && isInFuture(lead.createdAt, this.#lookup.now))
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
    this.added.add(draft);
    return { kind: 'added', draft };
  }
}

type DraftSets = { readonly [Kind in 'updated' | 'added']: ReadonlySet<Draft> };

type Send = <Row>(text: string, values: readonly SqlValue[], isLast: boolean) => Promise<Row[]>;

/** With `allOrNone` it fails if a trigger suppresses a lead. Otherwise such a draft is not marked as stored. */
async function saveDrafts(batches: readonly DraftSets[], allOrNone: boolean, send: Send): Promise<void> {
  const updated = batches.flatMap((batch) => [...batch.updated]);
  const added = batches.flatMap((batch) => [...batch.added]);
  if (updated.length > 0) await send(UPDATE_LEADS, [await toJson(updated)], added.length === 0);
  if (added.length === 0) return;
  const rows = await send<AddedRow>(ADD_LEADS, [await toJson(added), allOrNone], true);
  const byId = new Map(added.map((draft) => [idInCompany(draft.companyId, draft.id), draft]));
  for (const [index, { company_id, id, created_at: createdAt }] of rows.entries()) {
    // A trigger of the operator's may have changed the company or the id; if no row is missing, rows are matched by their order.
    const draft = rows.length === added.length ? added[index] : byId.get(idInCompany(company_id, id));
    if (draft) draft.stored = { id, createdAt };
  }
}

/** To find out which lead violates a constraint. Throws `LeadsRejected`. */
async function saveOneByOne(batch: Batch, send: Send): Promise<void> {
  for (const draft of [...batch.updated, ...batch.added]) {
    const one = new Set([draft]);
    const none = new Set<Draft>();
    const sets = batch.added.has(draft) ? { updated: none, added: one } : { updated: one, added: none };
    try {
      await saveDrafts([sets], false, send);
    } catch (error) {
      const constraint = violatedConstraint(error);
      throw constraint === undefined ? error : batch.rejectionOf(draft, constraint);
    }
  }
}

async function forgetErased(session: Session, drafts: readonly Draft[]): Promise<void> {
  if (drafts.length === 0) return;
  await session.query(FORGET_ERASED, [
    drafts.map(({ companyId }) => companyId),
    drafts.map(({ id }) => hashErasedId(id)),
  ]);
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
