/** The fields of a lead on its way in: their names, and how each is read. */
import type { Clock } from '../../clock.ts';
import { nearestName } from '../../nearest-name.ts';
import type { LeadFields, LeadInput } from '../../store/records.ts';
import { customFields } from './custom-fields.ts';
import { shown, ValidationIssue } from './validation-issue.ts';
import * as values from './values.ts';

type Placement = Omit<LeadInput, 'fields'>;

/** A lead whose fields are being read one by one. */
export type LeadDraft = { -readonly [K in keyof Placement]?: Placement[K] } & {
  readonly fields: { -readonly [K in keyof LeadFields]?: LeadFields[K] };
};

/** Puts a value of the file into the draft, or says how to mend it. */
export type FieldRule = (draft: LeadDraft, value: unknown) => ValidationIssue | undefined;

export interface IntakeRules {
  /** The leads are history: they bring the time at which they were created. */
  readonly historical: boolean;
  readonly clock: Clock;
}

const nullOrText = values.nullOr(values.text(1000), null);

const FIELD_READERS: { readonly [K in keyof LeadFields]: values.Reader<LeadFields[K]> } = {
  firstName: nullOrText,
  lastName: nullOrText,
  fullName: nullOrText,
  phone1: nullOrText,
  phone2: nullOrText,
  email: values.nullOr(values.email, null),
  address: nullOrText,
  postalCode: nullOrText,
  addressNotes: values.nullOr(values.text(10_000), null),
  appointmentDateTime: values.nullOr(values.instant, null),
  timeslot: values.nullOr(values.timeslot, null),
  customFields: values.nullOr(customFields, {}),
  images: values.nullOr(values.images, []),
  sameDay: values.nullOr(values.boolean, false),
};

/** An id or a status cannot be cleared: null leaves them out. */
const PLACEMENT_READERS: {
  readonly [K in keyof Omit<Placement, 'createdAt'>]-?: values.Reader<Placement[K] | undefined>;
} = {
  companyId: values.id,
  id: values.nullOr(values.id, undefined),
  branchId: values.nullOr(values.id, null),
  departmentId: values.nullOr(values.id, null),
  statusValue: values.nullOr(values.statusValue, undefined),
};

/** Part of every answer, but never of the input. */
const FILLED_IN: ReadonlySet<string> = new Set([
  'status',
  'updatedAt',
  'companyName',
  'branchName',
  'departmentName',
  'automation_trigger_id',
  'automation_created_at',
]);

const fieldRule =
  <K extends keyof LeadFields>(name: K, read: values.Reader<LeadFields[K]>): FieldRule =>
  (draft, value) => {
    const result = read(value);
    if (result instanceof ValidationIssue) return result;
    draft.fields[name] = result;
    return undefined;
  };

const placementRule =
  <K extends keyof Placement>(name: K, read: values.Reader<Placement[K] | undefined>): FieldRule =>
  (draft, value) => {
    const result = read(value);
    if (result instanceof ValidationIssue) return result;
    if (result !== undefined) draft[name] = result;
    return undefined;
  };

const keysOf = <T extends object>(object: T) => Object.keys(object) as (keyof T & string)[];

/** Every field that a line may have, with its rule. */
export function fieldRules({ historical, clock }: IntakeRules): ReadonlyMap<string, FieldRule> {
  const rules = new Map<string, FieldRule>();
  for (const name of keysOf(PLACEMENT_READERS)) rules.set(name, placementRule(name, PLACEMENT_READERS[name]));
  for (const name of keysOf(FIELD_READERS)) rules.set(name, fieldRule(name, FIELD_READERS[name]));
  if (historical) rules.set('createdAt', placementRule('createdAt', values.past(clock)));
  return rules;
}

export const requiredFields = ({ historical }: IntakeRules): readonly string[] =>
  historical ? ['companyId', 'createdAt'] : ['companyId'];

const KNOWN_NAMES = [...keysOf(PLACEMENT_READERS), ...keysOf(FIELD_READERS), 'createdAt'];

/** Why a name without a rule is not one of the fields that a line may have. */
export function unknownField(name: string): string {
  if (name === 'createdAt')
    return 'is for history only; add --historical, or remove it, because Leadtap stamps new leads itself';
  if (FILLED_IN.has(name)) return 'Leadtap fills this in; remove it';
  const nearest = nearestName(name, KNOWN_NAMES);
  return nearest === undefined
    ? 'is not a field of a lead; put it under customFields'
    : `is not a field of a lead; did you mean ${nearest}?`;
}

/** The name of a field as messages show it: bare when it is a plain word. */
export const shownField = (name: string): string => (/^[\w.-]{1,64}$/.test(name) ? name : shown(name));
