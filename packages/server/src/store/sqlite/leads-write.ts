import type { Clock } from '../../clock.ts';
import { uuidV7 } from '../../uuid.ts';
import { NO_FIELDS } from '../lead-defaults.ts';
import { toLeadFields } from '../lead-row.ts';
import { type Place, type Places, resolvePlace } from '../placement.ts';
import type { LeadFields, LeadInput } from '../records.ts';
import type { LeadResult, WriteOptions, WriteOutcome } from '../store.ts';
import type { Undo } from '../undo.ts';
import type { Connection } from './connection.ts';
import type { SqlValue } from './driver.ts';
import { preparePlaces } from './known-places.ts';
import { type KeptFieldsRow, unpack } from './leads-read.ts';
import { prepareStamps, type Stamps } from './stamps.ts';

/** The columns an update may change, in the order of `contentValues`. */
const CONTENT_COLUMNS = [
  'branch_id',
  'department_id',
  'status_value',
  'first_name',
  'last_name',
  'full_name',
  'phone1',
  'phone2',
  'email',
  'address',
  'postal_code',
  'address_notes',
  'appointment_date_time',
  'timeslot',
  'custom_fields',
  'images',
  'same_day',
  'updated_at',
];

const contentValues = (place: Place, fields: LeadFields, updatedAt: number): SqlValue[] => [
  place.branchId,
  place.departmentId,
  place.statusValue,
  fields.firstName,
  fields.lastName,
  fields.fullName,
  fields.phone1,
  fields.phone2,
  fields.email,
  fields.address,
  fields.postalCode,
  fields.addressNotes,
  fields.appointmentDateTime,
  fields.timeslot,
  JSON.stringify(fields.customFields),
  JSON.stringify(fields.images),
  fields.sameDay ? 1 : 0,
  updatedAt,
];

interface ExistingRow extends KeptFieldsRow {
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
  readonly places: Places;
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
    const columns = CONTENT_COLUMNS.join(', ');
    this.#find = connection.prepare<ExistingRow>(
      `SELECT created_at, ${columns} FROM leads WHERE company_id = ? AND id = ?`,
    );
    this.#insert = connection.prepare(
      `INSERT INTO leads (company_id, id, created_at, automation_trigger_id, automation_created_at, ${columns})
       VALUES (${Array(5 + CONTENT_COLUMNS.length)
         .fill('?')
         .join(', ')})`,
    );
    this.#update = connection.prepare(
      `UPDATE leads SET ${CONTENT_COLUMNS.map((column) => `${column} = ?`).join(', ')}
        WHERE company_id = ? AND created_at = ?`,
    );
  }

  /** The work of one transaction; the caller holds the write lock. */
  write(
    leads: readonly LeadInput[],
    { historical = false, maxAheadMs = Number.POSITIVE_INFINITY }: WriteOptions,
    undo: Undo<WriteOutcome>,
  ): WriteOutcome {
    const now = this.#clock();
    const stamps = this.#beginStamps(now);
    const batch = { now, historical, stamps, places: this.#beginPlaces() };
    const results = leads.map((lead) => this.#writeOne(lead, batch));
    const tooFarMs = stamps.aheadMs() - maxAheadMs;
    if (tooFarMs > 0) undo({ kind: 'too-far-ahead', waitMs: tooFarMs });
    stamps.save();
    return { kind: 'written', results };
  }

  #writeOne(lead: LeadInput, batch: Batch): LeadResult {
    const { companyId } = lead;
    if (!batch.stamps.knowsCompany(companyId))
      return { kind: 'rejected', problem: { field: 'companyId', reason: 'unknown', value: companyId } };
    const existing = lead.id === undefined ? undefined : this.#find.get(companyId, lead.id);
    const placed = resolvePlace(lead, existing && placeOf(existing), batch.places);
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    return existing && lead.id !== undefined
      ? this.#change(lead, lead.id, existing, placed.place, batch.now)
      : this.#add(lead, placed.place, batch);
  }

  #add(lead: LeadInput, place: Place, { now, historical, stamps }: Batch): LeadResult {
    const { companyId } = lead;
    const keepsTime = historical && lead.createdAt !== undefined;
    const createdAt = keepsTime ? stamps.historical(companyId, lead.createdAt) : stamps.next(companyId);
    const takenInAt = keepsTime ? now : createdAt;
    const id = lead.id ?? uuidV7(takenInAt);
    const content = contentValues(place, { ...NO_FIELDS, ...lead.fields }, createdAt);
    this.#insert.run(companyId, id, createdAt, uuidV7(takenInAt), takenInAt, ...content);
    return { kind: 'added', id, createdAt };
  }

  #change(lead: LeadInput, id: string, existing: ExistingRow, place: Place, now: number): LeadResult {
    const fields = { ...toLeadFields({ ...existing, ...unpack(existing) }), ...lead.fields };
    // Stamps may run ahead of the clock; a lead is never older than its own creation.
    const updatedAt = Math.max(now, existing.updated_at, existing.created_at);
    this.#update.run(...contentValues(place, fields, updatedAt), lead.companyId, existing.created_at);
    return { kind: 'updated', id, createdAt: existing.created_at };
  }
}

const placeOf = (row: ExistingRow): Place => ({
  branchId: row.branch_id,
  departmentId: row.department_id,
  statusValue: row.status_value,
});
