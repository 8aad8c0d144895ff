import type { Clock } from '../../clock.ts';
import type { LeadFields, LeadInput } from '../records.ts';
import type { LeadResult, WriteOptions, WriteOutcome } from '../store.ts';
import type { MakeId } from '../uuid.ts';
import type { Connection, Undo } from './connection.ts';
import type { SqlValue } from './driver.ts';
import { type LeadFieldsRow, toLeadFields } from './leads-read.ts';
import { type Place, Placement } from './placement.ts';
import { Stamps } from './stamps.ts';

const NO_FIELDS: LeadFields = {
  firstName: null,
  lastName: null,
  fullName: null,
  phone1: null,
  phone2: null,
  email: null,
  address: null,
  postalCode: null,
  addressNotes: null,
  appointmentDateTime: null,
  timeslot: null,
  customFields: {},
  images: [],
  sameDay: false,
};

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

interface ExistingRow extends LeadFieldsRow {
  created_at: number;
  branch_id: string | null;
  department_id: string | null;
  status_value: string;
  updated_at: number;
}

/** Writes batches of leads: each batch is one transaction, durable as a whole or not there at all. */
export class LeadWriter {
  readonly #clock: Clock;
  readonly #makeId: MakeId;
  readonly #stamps: Stamps;
  readonly #placement: Placement;
  readonly #find;
  readonly #insert;
  readonly #update;

  constructor(connection: Connection, clock: Clock, makeId: MakeId) {
    this.#clock = clock;
    this.#makeId = makeId;
    this.#stamps = new Stamps(connection);
    this.#placement = new Placement(connection);
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
    this.#stamps.begin(now);
    this.#placement.forget();
    const results = leads.map((lead) => this.#writeOne(lead, now, historical));
    const tooFarMs = this.#stamps.aheadMs() - maxAheadMs;
    if (tooFarMs > 0) undo({ kind: 'too-far-ahead', waitMs: tooFarMs });
    this.#stamps.save();
    return { kind: 'written', results };
  }

  #writeOne(lead: LeadInput, now: number, historical: boolean): LeadResult {
    const { companyId } = lead;
    if (!this.#stamps.knowsCompany(companyId))
      return { kind: 'rejected', problem: { field: 'companyId', reason: 'unknown', value: companyId } };
    const existing = lead.id === undefined ? undefined : this.#find.get(companyId, lead.id);
    const placed = this.#placement.resolve(lead, existing && placeOf(existing));
    if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
    return existing && lead.id !== undefined
      ? this.#change(lead, lead.id, existing, placed.place, now)
      : this.#add(lead, placed.place, now, historical);
  }

  #add(lead: LeadInput, place: Place, now: number, historical: boolean): LeadResult {
    const { companyId } = lead;
    const keepsTime = historical && lead.createdAt !== undefined;
    const createdAt = keepsTime
      ? this.#stamps.historical(companyId, lead.createdAt)
      : this.#stamps.next(companyId);
    const takenInAt = keepsTime ? now : createdAt;
    const id = lead.id ?? this.#makeId(takenInAt);
    const content = contentValues(place, { ...NO_FIELDS, ...lead.fields }, createdAt);
    this.#insert.run(companyId, id, createdAt, this.#makeId(takenInAt), takenInAt, ...content);
    return { kind: 'added', id, createdAt };
  }

  #change(lead: LeadInput, id: string, existing: ExistingRow, place: Place, now: number): LeadResult {
    const fields = { ...toLeadFields(existing), ...lead.fields };
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
