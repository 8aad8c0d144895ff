import type { LeadInput } from '../records.ts';
import type { SqlValue } from './driver.ts';
import { encodeFields } from './lead-columns.ts';

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

export const packLead = (lead: LeadInput): PackedLead => [
  lead.companyId,
  lead.id,
  lead.createdAt,
  lead.branchId,
  lead.departmentId,
  lead.statusValue,
  ...encodeFields(lead.fields),
];
