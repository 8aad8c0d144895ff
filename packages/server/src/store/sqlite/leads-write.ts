import type { Clock } from '../../clock.ts';
import { uuidV7 } from '../../uuid.ts';
import { FIELD_COLUMNS } from '../lead-row.ts';
import { type Place, resolvePlace } from '../placement.ts';
import type { LeadResult, WriteOptions, WriteOutcome } from '../store.ts';
import type { Connection } from './connection.ts';
import type { SqlValue } from './driver.ts';
import { type KnownPlaces, placeGiven, preparePlaces } from './known-places.ts';
import { FIELD_DEFAULTS } from './lead-columns.ts';
import { FIRST_FIELD, type PackedLead } from './packed-lead.ts';
import { prepareStamps, type Stamps } from './stamps.ts';

const FIELDS = FIELD_COLUMNS.map(({ column }) => column);
/** The columns an update may change. */
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

/** What the leads of one transaction share. */
interface Batch {
  readonly now: number;
  readonly historical: boolean;
  readonly stamps: Stamps;
  readonly places: KnownPlaces;
}

/** Writes batches of leads: each batch is one transaction, durable as a whole or not there at all. */
export class LeadWriter {
  readonly #clock: Clock;
  readonly #beginStamps;
  readonly #beginPlaces;
  readonly #find;
  readonly #insert;
  readonly #update;

  constructor(connection: Connection, clock: Clock) {
    this.#clock = clock;
    this.#beginStamps = prepareStamps(connection);
    this.#beginPlaces = preparePlaces(connection);
    this.#find = connection.prepare<ExistingRow>(
      `SELECT created_at, ${CONTENT_COLUMNS.join(', ')} FROM leads WHERE company_id = ? AND id = ?`,
    );
    this.#insert = connection.prepare(
      `INSERT INTO leads (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
       ON CONFLICT DO NOTHING`,
    );
    this.#update = connection.prepare(
      `UPDATE leads SET ${CONTENT_COLUMNS.map((column) => `${column} = ?`).join(', ')}
        WHERE company_id = ? AND created_at = ?`,
    );
  }

  /** The work of one transaction; the caller holds the write lock. */
  write(leads: readonly PackedLead[], { historical = false }: WriteOptions): WriteOutcome {
    const now = this.#clock();
    const stamps = this.#beginStamps(now);
    const batch = { now, historical, stamps, places: this.#beginPlaces() };
    const results = leads.map((lead) => this.#writeOne(lead, batch));
    stamps.save();
    return { kind: 'written', results };
  }

  /**
   * Nearly every lead is new, so it is taken for new first: the index says in passing if its id or its time is there
   * already. To look before each would cost a fifth more.
   */
  #writeOne(lead: PackedLead, batch: Batch): LeadResult {
    const [companyId, id] = lead;
    const { stamps } = batch;
    if (!stamps.knowsCompany(companyId))
      return { kind: 'rejected', problem: { field: 'companyId', reason: 'unknown', value: companyId } };
    const placed = batch.places.ofNewLead(lead);
    const wanted = batch.historical ? lead[2] : undefined;
    const added =
      'place' in placed &&
      (wanted === undefined
        ? this.#add(lead, placed.place, batch, stamps.next(companyId))
        : this.#add(lead, placed.place, batch, stamps.historical(companyId, wanted), wanted));
    if (added) return added;
    const existing = id === undefined ? undefined : this.#find.get(companyId, id);
    if (existing && id !== undefined) return this.#change(lead, id, existing, batch);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    return this.#move(lead, placed.place, batch, wanted);
  }

  /** Adds history elsewhere, because another lead has its time. A stamp that was made here nobody can have. */
  #move(lead: PackedLead, place: Place, batch: Batch, wanted: number | undefined): LeadResult {
    const [companyId] = lead;
    const free = wanted === undefined ? undefined : batch.stamps.nextFree(companyId, wanted);
    const added = free !== undefined && this.#add(lead, place, batch, free, wanted);
    if (!added) throw new Error(`the last stamp of company ${companyId} lies before its newest lead`);
    return added;
  }

  /** Undefined when its id or its time is there already. History says which time it wanted. */
  #add(
    lead: PackedLead,
    { branchId, departmentId, statusValue }: Place,
    { now, stamps }: Batch,
    createdAt: number,
    wanted?: number,
  ): LeadResult | undefined {
    const takenInAt = wanted === undefined ? createdAt : now;
    const [companyId, id = uuidV7(takenInAt)] = lead;
    const values = [
      ...[companyId, id, createdAt, uuidV7(takenInAt), takenInAt],
      ...[branchId, departmentId, statusValue],
    ];
    for (const [index, otherwise] of FIELD_DEFAULTS.entries())
      values.push(lead[FIRST_FIELD + index] ?? otherwise);
    values.push(createdAt);
    if (this.#insert.run(...values) === 0) return undefined;
    stamps.take(companyId, createdAt, wanted);
    return { kind: 'added', id, createdAt };
  }

  #change(lead: PackedLead, id: string, existing: ExistingRow, { now, places }: Batch): LeadResult {
    const { created_at: createdAt } = existing;
    const placed = resolvePlace(placeGiven(lead), placeOf(existing), places);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    const { branchId, departmentId, statusValue } = placed.place;
    const fields = FIELDS.map((column, index) => {
      const given = lead[FIRST_FIELD + index];
      return given === undefined ? (existing[column] ?? null) : given;
    });
    // Stamps may run ahead of the clock; a lead is never older than its own creation.
    const updatedAt = Math.max(now, existing.updated_at, createdAt);
    this.#update.run(branchId, departmentId, statusValue, ...fields, updatedAt, lead[0], createdAt);
    return { kind: 'updated', id, createdAt };
  }
}

const placeOf = (row: ExistingRow): Place => ({
  branchId: row.branch_id,
  departmentId: row.department_id,
  statusValue: row.status_value,
});
