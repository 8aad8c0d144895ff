/** Leads of one HTTP request: parsed as an import does, placed within the access level of their sender, and written together. */
import { formatCount, type LeadError, MAX_INTAKE_LEADS } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { type PollingUser, scopeOf } from '../leads/access.ts';
import { isBlank } from '../leads/field-readers.ts';
import type { LeadTimes } from '../leads/lead-times.ts';
import { CUSTOM_FIELD_PREFIX, parseLead, requireContent, type ValidationIssue } from '../leads/parse-lead.ts';
import { outsideScope, placementIssue } from '../leads/placement-issues.ts';
import type { LeadInput, LeadScope } from '../leads/record.ts';
import type { PlacementProblem, WrittenLead } from '../leads/store.ts';
import type { Clock } from '../lib/clock.ts';
import { shorten } from '../lib/escape.ts';
import { mapInSlices, Slices } from '../lib/event-loop.ts';
import { isJsonObject } from '../lib/json.ts';
import { deriveId, identifyRequest } from './idempotency.ts';
import type { IntakeStore } from './store.ts';

/** What a request contains: one lead or an array of leads, not yet checked. */
export interface IntakeContent {
  readonly value: unknown;
  /** Of a webhook: its lead with the answers of these fields as custom fields. */
  readonly withoutFields?: (fields: ReadonlySet<string | null>) => IntakeContent;
}

export interface ReceiveOptions {
  readonly store: Pick<IntakeStore, 'writeAllLeads' | 'findPlacementProblems'>;
  readonly user: PollingUser;
  /** The token that the leads are sent with. */
  readonly sender: VerifiedToken;
  /** Leads without an id get one that is derived from it, so that a repeated request adds nothing. */
  readonly idempotencyKey: string | undefined;
  /** The bytes of the body, which the same key may be sent with again. */
  readonly body: Buffer;
  readonly clock: Clock;
  /** How times are read. Absent: without an offset they are UTC. */
  readonly times?: LeadTimes | undefined;
}

export type IntakeOutcome =
  | { readonly kind: 'written'; readonly results: readonly WrittenLead[]; readonly isRepeated?: true }
  /** Nothing was written. */
  | { readonly kind: 'key-reused' }
  /** `other-person`: all errors are ids of other people. */
  | { readonly kind: 'invalid' | 'other-person'; readonly errors: readonly LeadError[] }
  /** Nothing was written: the account is not as given any more. */
  | { readonly kind: 'account-changed' };

/** Bounds the response to a body that contains nothing but errors, and the time that explaining them takes. */
const MAX_ERRORS = 1000;
/** Far more than a lead has. More of them are one error, because explaining each takes time. */
const MAX_FIELDS = 100;
/** With names such as `customFields.x`; as many as a form may have. */
const MAX_DOTTED_FIELDS = 1000;

const MAX_LEADS_TEXT = formatCount(MAX_INTAKE_LEADS);

/** All leads are written, or none. No lead of a webhook is lost because its status or place does not exist. */
export async function receiveLeads(content: IntakeContent, options: ReceiveOptions): Promise<IntakeOutcome> {
  const outcome = await receiveOnce(content, options);
  if (outcome.kind !== 'invalid' || !content.withoutFields) return outcome;
  return receiveOnce(content.withoutFields(new Set(outcome.errors.map(({ field }) => field))), options);
}

async function receiveOnce(content: IntakeContent, options: ReceiveOptions): Promise<IntakeOutcome> {
  const { store, user, sender, idempotencyKey, body } = options;
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  const parsed = await parseIntake(content, options);
  if (parsed.errors.length > 0)
    return { kind: 'invalid', errors: await addPlacementErrors(parsed, options, scope) };
  const leads = parsed.entries.map(({ lead }) => lead);
  const derivedIds = () =>
    parsed.entries.flatMap(({ isIdDerived, lead }) => (isIdDerived ? (lead.id ?? []) : []));
  const request =
    idempotencyKey === undefined
      ? undefined
      : identifyRequest(scope, sender, idempotencyKey, body, new Set(derivedIds()));
  const outcome = await store.writeAllLeads(leads, scope, sender, request);
  if (outcome.kind !== 'rejected') return outcome;
  const isOther = outcome.problems.flat().every(({ reason }) => reason === 'other-person');
  const errors = await addPlacementErrors(parsed, options, scope, outcome.problems);
  return { kind: isOther ? 'other-person' : 'invalid', errors };
}

interface IntakeEntry {
  readonly index: number;
  readonly lead: LeadInput;
  /** The id is derived from the `Idempotency-Key`: the sender does not know it. */
  readonly isIdDerived: boolean;
}

interface ParsedIntake {
  /** The leads that the store can check, which includes those with other errors. */
  readonly entries: readonly IntakeEntry[];
  readonly errors: readonly LeadError[];
}

async function parseIntake({ value }: IntakeContent, options: ReceiveOptions): Promise<ParsedIntake> {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const bodyError = findBodyError(value, items);
  if (bodyError) return { entries: [], errors: [bodyError] };
  const entries: IntakeEntry[] = [];
  const errors: LeadError[] = [];
  const firstUses = new Map<string, number>();
  const slices = new Slices(options.user.companyId);
  for (const [index, item] of items.entries()) {
    if (errors.length >= MAX_ERRORS) break;
    const turn = slices.beginLead();
    if (turn) await turn;
    const parsed = parseItem(item, options);
    for (const issue of parsed.issues) errors.push(toError(index, issue));
    if (!parsed.lead) continue;
    const entry = createEntry(parsed.lead, index, options);
    entries.push(entry);
    const { id } = entry.lead;
    const firstUse = id === undefined ? index : (firstUses.get(id) ?? index);
    if (firstUse !== index)
      errors.push({ index, field: 'id', detail: `is also the id of lead ${firstUse}; send each lead once` });
    if (id !== undefined) firstUses.set(id, firstUse);
  }
  return { entries, errors };
}

/** A lead without an id gets one that is derived from the `Idempotency-Key`, if there is one. */
function createEntry(
  lead: LeadInput,
  index: number,
  { sender, idempotencyKey }: ReceiveOptions,
): IntakeEntry {
  if (lead.id !== undefined || idempotencyKey === undefined) return { index, lead, isIdDerived: false };
  const id = deriveId(lead.companyId, sender, idempotencyKey, index);
  return { index, lead: { ...lead, id }, isIdDerived: true };
}

function findBodyError(value: unknown, items: readonly unknown[]): LeadError | undefined {
  if (items.length === 0)
    return toError(0, {
      detail: `the array is empty; send one lead, or an array of 1 to ${MAX_LEADS_TEXT} leads`,
    });
  if (items.length > MAX_INTAKE_LEADS)
    return toError(MAX_INTAKE_LEADS, {
      detail: `is one too many: the array has ${formatCount(items.length)} leads; send at most ${MAX_LEADS_TEXT} in one request`,
    });
  if (Array.isArray(value) || isJsonObject(value)) return undefined;
  return toError(0, { detail: `the body must be an object, or an array of 1 to ${MAX_LEADS_TEXT} objects` });
}

const toError = (index: number, { field = null, detail }: ValidationIssue | LeadError): LeadError => ({
  index,
  field: field === null ? null : shorten(field),
  detail,
});

interface ParsedItem {
  readonly lead?: LeadInput | undefined;
  readonly issues: readonly ValidationIssue[];
}

function parseItem(item: unknown, { user, clock, times }: ReceiveOptions): ParsedItem {
  if (!isJsonObject(item)) return { issues: [{ detail: 'must be an object, such as {"firstName":"Ada"}' }] };
  const names = Object.keys(item);
  const countPlain = () => names.filter((name) => !name.startsWith(CUSTOM_FIELD_PREFIX)).length;
  if (names.length > MAX_DOTTED_FIELDS || (names.length > MAX_FIELDS && countPlain() > MAX_FIELDS))
    return {
      issues: [{ detail: `has ${formatCount(names.length)} fields; put your own fields under customFields` }],
    };
  const placed = placeInAccess(item, user);
  const parsed = requireContent(parseLead(placed.object, { historical: false, clock, times }));
  if (parsed.issues) return { lead: parsed.partialLead, issues: [...placed.issues, ...parsed.issues] };
  return { lead: parsed.lead, issues: placed.issues };
}

const PLACE_FIELDS = ['companyId', 'branchId', 'departmentId'] as const;

/** The places that the access level of a user fixes. The department determines the branch, which is not added then. */
const fixedPlaces = ({ accessLevel, companyId, branchId, departmentId }: PollingUser) =>
  [
    { field: 'companyId', own: companyId, isAdded: true, isFixed: true },
    {
      field: 'branchId',
      own: branchId,
      isAdded: accessLevel === 'BRANCH',
      isFixed: accessLevel !== 'COMPANY',
    },
    { field: 'departmentId', own: departmentId, isAdded: true, isFixed: accessLevel === 'DEPARTMENT' },
  ] as const;

/**
 * Adds the place that the access level of the user fixes, if the lead does not name it. Another place is an error; the store
 * then checks the lead as if it were in the place of the user.
 */
function placeInAccess(item: Readonly<Record<string, unknown>>, user: PollingUser) {
  const issues: ValidationIssue[] = [];
  // A name may be __proto__, which a spread copies like every other one.
  const object: Record<string, unknown> = { ...item };
  // An empty text counts as a field that is left out.
  for (const field of PLACE_FIELDS) {
    if (typeof object[field] === 'number') object[field] = String(object[field]);
    if (typeof object[field] === 'string' && isBlank(object[field])) delete object[field];
  }
  for (const { field, own, isAdded } of fixedPlaces(user).filter(({ isFixed }) => isFixed)) {
    const given = object[field];
    // A value of another type is left to the parser.
    const isNone = given === null && field !== 'companyId';
    if (isNone || (typeof given === 'string' && given !== own)) {
      issues.push({ field, detail: outsideScope(field, given) });
      delete object[field];
    }
    if (isAdded) object[field] ??= own;
  }
  return { object, issues };
}

/**
 * Adds what only the store can find, so that the sender sees all errors at once. `rejections` are those of a write, which does
 * not look for further problems of a lead.
 */
async function addPlacementErrors(
  { entries, errors }: ParsedIntake,
  { store, user }: ReceiveOptions,
  scope: LeadScope,
  rejections: readonly (readonly PlacementProblem[])[] = [],
): Promise<LeadError[]> {
  const leads = entries.map(({ lead }) => lead);
  const all = await store.findPlacementProblems(leads, { scope });
  const describe = (entry: IntakeEntry, at: number) => {
    const problems = (all[at]?.length ? all[at] : rejections[at]) ?? [];
    return problems.map((problem) => toError(entry.index, toIssue(problem, entry, user)));
  };
  const found = await mapInSlices(entries, describe, user.companyId);
  return [...errors, ...found.flat()].sort((a, b) => a.index - b.index).slice(0, MAX_ERRORS);
}

const KEY_IN_USE =
  'the lead that was sent with this Idempotency-Key was erased, or is outside the access level of your user; use another Idempotency-Key';

/** One message for what does not exist and for what the user has no access to: the sender must not find out which it is. */
function toIssue(
  problem: PlacementProblem,
  { isIdDerived }: IntakeEntry,
  { accessLevel }: PollingUser,
): ValidationIssue {
  const { field, reason, value } = problem;
  if (
    reason === 'not-stored' ||
    reason === 'no-content' ||
    reason === 'in-future' ||
    reason === 'other-person'
  )
    return placementIssue(problem);
  if (field === 'companyId' || field === 'statusValue') return placementIssue(problem);
  if (field === 'id' && isIdDerived) return { detail: KEY_IN_USE };
  return accessLevel === 'COMPANY' ? placementIssue(problem) : { field, detail: outsideScope(field, value) };
}
