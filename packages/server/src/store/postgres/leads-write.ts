import { idInCompany } from '../../accounts/records.ts';
import {
  encodeResults,
  KEY_RETENTION_MS,
  MAX_KEYS_PRUNED,
  repeatedOutcome,
} from '../../intake/idempotency.ts';
import type { WriteAllOutcome } from '../../intake/store.ts';
import { LeadsRejected, requireAllWritten, toRejection, type WriteRequest } from '../../intake/write-all.ts';
import { mayWrite } from '../../leads/access.ts';
import { findOtherPerson } from '../../leads/other-person.ts';
import {
  findFutureCreatedAt,
  findLeadProblems,
  findNotAddable,
  type Placement,
  planLead,
  resolvePlacement,
  toPlacement,
} from '../../leads/placement.ts';
import type { LeadFields, LeadInput } from '../../leads/record.ts';
import { hashErasedId } from '../../leads/removal.ts';
import { DEFAULT_LEAD_FIELDS, toLeadFields, toLeadFieldsRow } from '../../leads/row.ts';
import type { LeadResult, ScopedWriteOptions, WriteOptions, WrittenLead } from '../../leads/store.ts';
import { mapInSlices } from '../../lib/event-loop.ts';
import type { Store } from '../store.ts';
import { createUuid } from '../uuids.ts';
import type { Database, Session, TransactionSession } from './connection.ts';
import { isLockBusy, isUnavailableForSome, violatedConstraint } from './errors.ts';
import { UPDATE_LEADS } from './functions.ts';
import { type BatchRow, type ExistingRow, Lookup, lookupOf, readLookup } from './write-lookups.ts';

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
  placement: Placement;
  fields: LeadFields;
  /** For a historical lead. */
  readonly wantedCreatedAt: number | undefined;
  /** Undefined until it is inserted, and also after that if a trigger of the operator's has suppressed it. */
  stored: { readonly id: string; readonly createdAt: number } | undefined;
}

type Rejected = Extract<LeadResult, { kind: 'rejected' }>;
interface AcceptedDraft {
  readonly kind: 'added' | 'updated';
  readonly id: string;
  readonly draft: Draft;
}

type WriteMethods = Pick<Store, 'writeLeads' | 'findPlacementProblems' | 'planLeads'>;

export function leadMethods(database: Database): WriteMethods {
  return {
    async writeLeads(leads, options = {}) {
      return { kind: 'written', results: await writeLeads(database, leads, options) };
    },

    async findPlacementProblems(leads, options = {}) {
      const lookup = await readLookup(database, leads);
      return mapInSlices(leads, (lead) => findLeadProblems(lead, lookup, options), leads[0]?.companyId);
    },

    async planLeads(leads, options = {}) {
      const lookup = await database.transaction((session) => readLookup(session, leads));
      return leads.map((lead) => planLead(lead, lookup, options));
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
  const write = async (session: TransactionSession, [row]: BatchRow[]) => {
    const batch = new Batch(leads, new Lookup(row), options);
    await forgetErased(session, batch.readded);
    await saveDrafts(session, [batch]);
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

/** The company of the request is locked: it must be written again, by a group that waits for the lock. */
interface CompanyBusy {
  readonly kind: 'company-busy';
}

export type GroupOutcome = WriteAllOutcome | CompanyBusy;

/**
 * `together` fails if one of the leads cannot be stored. Then each request is written alone, to find out which lead it is; if one
 * violates a constraint, lead by lead.
 */
export type WriteMode = 'together' | 'alone' | 'lead-by-lead';

export interface GroupOptions {
  readonly mode: WriteMode;
  readonly skipsBusyCompanies: boolean;
  readonly lockTimeoutMs: number;
}

type PlannedRequest =
  | GroupOutcome
  | { readonly kind: 'accepted'; readonly batch: Batch; readonly request: WriteRequest };

function planRequest(request: WriteRequest, index: number, lookup: Lookup): PlannedRequest {
  const { leads, scope, sender, idempotency } = request;
  if (lookup.busy.has(scope.companyId)) return { kind: 'company-busy' };
  const account = lookup.accounts[index];
  if (sender && !(account && mayWrite(account, sender.userId, scope))) return { kind: 'account-changed' };
  const repeated = idempotency && repeatedOutcome(lookup.request(idempotency.keyHash), idempotency, leads);
  if (repeated) return repeated;
  try {
    const batch = new Batch(leads, lookup, { scope });
    requireAllWritten(request, batch.planned, lookup);
    return { kind: 'accepted', batch, request };
  } catch (error) {
    return toRejection(error);
  }
}

/** Writes the leads of each request, or none of them; none depends on another. The outcomes are in the order of the requests. */
export async function writeGroup(
  database: Database,
  requests: readonly WriteRequest[],
  { mode, skipsBusyCompanies, lockTimeoutMs }: GroupOptions,
): Promise<GroupOutcome[]> {
  // A retry must see what was stored before it commits.
  const commits = mode === 'together';
  const write = async (session: TransactionSession, [row]: BatchRow[]) => {
    const lookup = new Lookup(row);
    const planned = requests.map((request, index) => planRequest(request, index, lookup));
    const accepted = planned.filter((plan) => plan.kind === 'accepted');
    const hasKeys = accepted.some(({ request }) => request.idempotency);
    const batches = accepted.map(({ batch }) => batch);
    if (mode === 'lead-by-lead') for (const batch of batches) await saveOneByOne(session, batch);
    else await saveDrafts(session, batches, { allOrNone: commits, commits: commits && !hasKeys });
    const outcomes = planned.map((plan) =>
      plan.kind === 'accepted' ? ({ kind: 'written', results: plan.batch.written() } as const) : plan,
    );
    if (hasKeys) await saveKeys(session, accepted, commits);
    return outcomes;
  };
  try {
    return await database.transaction(write, {
      settings: settingsOf({}),
      opening: lookupOf(
        requests.flatMap(({ leads }) => leads),
        {
          lockMode: skipsBusyCompanies ? 'skip' : 'wait',
          senders: requests.map(({ sender }) => sender),
          keys: requests.flatMap(({ scope, idempotency }) =>
            idempotency ? { companyId: scope.companyId, keyHash: idempotency.keyHash } : [],
          ),
        },
      ),
      lockTimeoutMs,
      // The next write of the company waits until this one ends, also if the network has lost its connection.
      statementTimeoutMs: lockTimeoutMs + database.writeLimitMs,
    });
  } catch (error) {
    // The error of a group may be that of one company.
    const isBusy = requests.length > 1 ? isUnavailableForSome(error) : isLockBusy(error);
    if (skipsBusyCompanies && isBusy) return requests.map(() => ({ kind: 'company-busy' }));
    if (requests.length > 1) throw error;
    return [toRejection(error)];
  }
}

async function saveKeys(
  session: TransactionSession,
  accepted: readonly Extract<PlannedRequest, { kind: 'accepted' }>[],
  commits: boolean,
): Promise<void> {
  const keys = accepted.flatMap(({ batch, request: { scope, idempotency } }) =>
    idempotency
      ? { ...idempotency, companyId: scope.companyId, results: encodeResults(batch.written()) }
      : [],
  );
  const values = [
    keys.map(({ companyId }) => companyId),
    keys.map(({ keyHash }) => keyHash),
    keys.map(({ bodyHash }) => bodyHash),
    keys.map(({ results }) => results),
    KEY_RETENTION_MS,
    MAX_KEYS_PRUNED,
  ];
  await session.query(ADD_KEYS, values, { commits });
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

  constructor(leads: readonly LeadInput[], lookup: Lookup, options: ScopedWriteOptions) {
    this.#leads = addIds(leads);
    this.#lookup = lookup;
    this.planned = this.#leads.map((lead) => this.#plan(lead, options));
  }

  /** Leads that were erased, and are added again. */
  get readded(): readonly Draft[] {
    return [...this.added].filter(({ companyId, id }) => this.#lookup.isErased(companyId, id));
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
    return requireAllWritten<WrittenLead>(
      { leads: this.#leads, idempotency: undefined },
      this.results(),
      this.#lookup,
    );
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

  #findDraft(key: string): Draft | undefined {
    const existing = this.#lookup.existing.get(key);
    const draft = this.#drafts.get(key) ?? (existing && toDraft(existing));
    if (draft) this.#drafts.set(key, draft);
    return draft;
  }

  #plan(lead: IdentifiedLead, options: ScopedWriteOptions): AcceptedDraft | Rejected {
    const { historical = false, scope } = options;
    const { companyId, id } = lead;
    const key = idInCompany(companyId, id);
    const existing = this.#findDraft(key);
    const resolved = resolvePlacement(lead, existing?.placement, this.#lookup, scope);
    if ('problem' in resolved) return { kind: 'rejected', problem: resolved.problem };
    if (existing) {
      const [other] = findOtherPerson(lead, this.#lookup.existing.get(key), scope);
      if (other) return { kind: 'rejected', problem: other };
      existing.placement = resolved.placement;
      existing.fields = { ...existing.fields, ...lead.fields };
      if (!this.added.has(existing)) this.updated.add(existing);
      return { kind: 'updated', id, draft: existing };
    }
    const [notAddable] = findNotAddable(lead, this.#lookup, options);
    if (notAddable) return { kind: 'rejected', problem: notAddable };
    // Compared with the clock that stamps.
    const wantedCreatedAt = historical ? lead.createdAt : undefined;
    const [inFuture] =
      wantedCreatedAt === undefined ? [] : findFutureCreatedAt(wantedCreatedAt, this.#lookup.now);
    if (inFuture) return { kind: 'rejected', problem: inFuture };
    const draft: Draft = {
      companyId,
      id,
      placement: resolved.placement,
      fields: { ...DEFAULT_LEAD_FIELDS, ...lead.fields },
      wantedCreatedAt,
      stored: undefined,
    };
    this.#drafts.set(key, draft);
    this.added.add(draft);
    return { kind: 'added', id, draft };
  }
}

type DraftSets = { readonly [Kind in 'updated' | 'added']: ReadonlySet<Draft> };

interface SaveOptions {
  /** Fail if a trigger suppresses a lead. Otherwise such a draft is not marked as stored. */
  readonly allOrNone?: boolean;
  /** Send COMMIT with the last statement. */
  readonly commits?: boolean;
}

async function saveDrafts(
  session: TransactionSession,
  batches: readonly DraftSets[],
  { allOrNone = false, commits = false }: SaveOptions = {},
): Promise<void> {
  const updated = batches.flatMap((batch) => [...batch.updated]);
  const added = batches.flatMap((batch) => [...batch.added]);
  if (updated.length > 0)
    await session.query(UPDATE_LEADS, [await toJson(updated)], { commits: commits && added.length === 0 });
  if (added.length === 0) return;
  const rows = await session.query<AddedRow>(ADD_LEADS, [await toJson(added), allOrNone], { commits });
  const byId = new Map(added.map((draft) => [idInCompany(draft.companyId, draft.id), draft]));
  for (const [index, { company_id, id, created_at: createdAt }] of rows.entries()) {
    // A trigger of the operator's may have changed the company or the id; if no row is missing, rows are matched by their order.
    const draft = rows.length === added.length ? added[index] : byId.get(idInCompany(company_id, id));
    if (draft) draft.stored = { id, createdAt };
  }
}

/** To find out which lead violates a constraint. Throws `LeadsRejected`. */
async function saveOneByOne(session: TransactionSession, batch: Batch): Promise<void> {
  for (const draft of [...batch.updated, ...batch.added]) {
    const one = new Set([draft]);
    const none = new Set<Draft>();
    const sets = batch.added.has(draft) ? { updated: none, added: one } : { updated: one, added: none };
    try {
      await saveDrafts(session, [sets]);
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
  placement: toPlacement(row),
  fields: toLeadFields(row),
  wantedCreatedAt: undefined,
  stored: { id: row.id, createdAt: row.created_at },
});

/** In slices, because `JSON.stringify` of a whole batch blocks the event loop. Not in turns of the company: its lock is held meanwhile. */
async function toJson(drafts: readonly Draft[]): Promise<string> {
  const rows = await mapInSlices(drafts, ({ companyId, id, placement, fields, wantedCreatedAt }) =>
    JSON.stringify({
      company_id: companyId,
      id,
      created_at: wantedCreatedAt ?? null,
      branch_id: placement.branchId,
      department_id: placement.departmentId,
      status_value: placement.statusValue,
      ...toLeadFieldsRow(fields),
    }),
  );
  return `[${rows.join(',')}]`;
}
