/** Whether an update of a lead is of another person: a sender may use one `id` for all. */
import type { LeadFields } from './record.ts';
import { normalizeEmail, normalizePhone } from './removal.ts';
import type { LeadFieldsRow } from './row.ts';

export type PersonRow = Pick<LeadFieldsRow, 'email' | 'phone1' | 'phone2' | 'first_name' | 'last_name'>;

type Values = readonly (string | null | undefined)[];

/** Undefined if one side has none. */
function hasCommon(stored: Values, given: Values, normalize: (value: string) => string): boolean | undefined {
  const [a, b] = [stored, given].map((values) => values.flatMap((value) => (value ? normalize(value) : [])));
  if (!a?.length || !b?.length) return undefined;
  return a.some((value) => b.includes(value));
}

const normalizeName = (name: string): string => name.trim().toLowerCase();

/** True if no e-mail address, phone number and name is the same, as far as both have them, and an address or a number differs. */
export function isOtherPerson(stored: PersonRow, given: Partial<LeadFields>): boolean {
  const addresses = [
    hasCommon([stored.email], [given.email], normalizeEmail),
    hasCommon([stored.phone1, stored.phone2], [given.phone1, given.phone2], normalizePhone),
  ];
  if (addresses.includes(true) || !addresses.includes(false)) return false;
  const names = [
    hasCommon([stored.first_name], [given.firstName], normalizeName),
    hasCommon([stored.last_name], [given.lastName], normalizeName),
  ];
  return names.includes(false) || !names.includes(true);
}
