/** Whether a lead is of another person than the stored one with its id: some senders have one `id` for all. */
import type { LeadFields, LeadInput, LeadScope } from './record.ts';
import { normalizeEmail, normalizePhone } from './removal.ts';
import type { LeadFieldsRow } from './row.ts';
import type { PlacementProblem } from './store.ts';

export type PersonRow = Pick<
  LeadFieldsRow,
  'email' | 'phone1' | 'phone2' | 'first_name' | 'last_name' | 'full_name'
>;

type Values = readonly (string | null | undefined)[];

/** Undefined if one side has none. */
function hasCommon(stored: Values, given: Values, normalize: (value: string) => string): boolean | undefined {
  const [a = [], b = []] = [stored, given].map((values) =>
    values.map((value) => normalize(value ?? '')).filter(Boolean),
  );
  return a.length > 0 && b.length > 0 ? a.some((value) => b.includes(value)) : undefined;
}

const normalizeName = (name: string): string => name.trim().toLowerCase().replaceAll(/\s+/g, ' ');

const joinNames = (first: string | null | undefined, last: string | null | undefined): string =>
  `${first ?? ''} ${last ?? ''}`;

/** True if both have at least one of name, e-mail address and phone number, and none that both have is the same. */
export function isOtherPerson(stored: PersonRow, given: Partial<LeadFields>): boolean {
  const { firstName = stored.first_name, lastName = stored.last_name } = given;
  const isNameGiven = Boolean(given.firstName || given.lastName);
  const compared = [
    hasCommon([stored.email], [given.email], normalizeEmail),
    hasCommon([stored.phone1, stored.phone2], [given.phone1, given.phone2], normalizePhone),
    hasCommon(
      [stored.full_name, joinNames(stored.first_name, stored.last_name)],
      [given.fullName, isNameGiven ? joinNames(firstName, lastName) : null],
      normalizeName,
    ),
  ];
  return compared.includes(false) && !compared.includes(true);
}

/** Of a request over HTTP, which has a scope: imports may change anything. */
export const findOtherPerson = (
  { id, fields }: LeadInput,
  stored: PersonRow | undefined,
  scope: LeadScope | undefined,
): PlacementProblem[] =>
  scope && stored && isOtherPerson(stored, fields)
    ? [{ field: 'id', reason: 'other-person', value: id ?? '' }]
    : [];
