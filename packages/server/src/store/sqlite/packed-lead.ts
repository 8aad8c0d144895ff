import type { LeadInput } from '../records.ts';
import type { SqlValue } from './driver.ts';

/**
 * A lead on its way in, as SQLite keeps it: JSON as text, a boolean as a number, undefined where nothing is said. An array,
 * because it passes from thread to thread in half the time that an object takes.
 */
export type PackedLead = readonly [
  companyId: string,
  id: string | undefined,
  createdAt: number | undefined,
  branchId: string | null | undefined,
  departmentId: string | null | undefined,
  statusValue: string | undefined,
  ...fields: (SqlValue | undefined)[],
];

/** Where the fields of a packed lead begin. */
export const FIRST_FIELD = 6;

/** The columns of the fields, in their order, and what a new lead has in them where nothing is said. */
export const FIELD_DEFAULTS = {
  first_name: null,
  last_name: null,
  full_name: null,
  phone1: null,
  phone2: null,
  email: null,
  address: null,
  postal_code: null,
  address_notes: null,
  appointment_date_time: null,
  timeslot: null,
  custom_fields: '{}',
  images: '[]',
  same_day: 0,
} satisfies Record<string, SqlValue>;

export function packLead(lead: LeadInput): PackedLead {
  const { fields } = lead;
  return [
    lead.companyId,
    lead.id,
    lead.createdAt,
    lead.branchId,
    lead.departmentId,
    lead.statusValue,
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
    fields.customFields && JSON.stringify(fields.customFields),
    fields.images && JSON.stringify(fields.images),
    fields.sameDay === undefined ? undefined : Number(fields.sameDay),
  ];
}
