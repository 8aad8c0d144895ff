/** Leads of one HTTP request: parsed as an import does, placed within the access level of their sender, and written together. */
import { createHmac, hash } from 'node:crypto';
import { type LeadError, MAX_INTAKE_LEADS } from '@leadtap/contract';
import type { Bearer } from '../accounts/store.ts';
import type { Clock } from '../clock.ts';
import { quote, shorten } from '../escape.ts';
import { mapInSlices, Slices } from '../event-loop.ts';
import { formatCount } from '../formats.ts';
import { isJsonObject } from '../json.ts';
import { type PollingUser, scopeOf } from '../leads/access.ts';
import { isBlank } from '../leads/field-readers.ts';
import type { LeadTimes } from '../leads/lead-times.ts';
import {
  CUSTOM_FIELD_PREFIX,
  NO_CONTENT,
  parseLead,
  requireContent,
  type ValidationIssue,
} from '../leads/parse-lead.ts';
import { outsideScope, placementIssue } from '../leads/placement-issues.ts';
import type { LeadInput, LeadScope } from '../leads/record.ts';
import type { PlacementProblem, WrittenLead } from '../leads/store.ts';
import type { IdempotentRequest, IntakeStore } from './store.ts';

/** What a request contains: one lead or an array of leads, not yet checked. */
export interface IntakeContent {
  readonly value: unknown;
  /** Errors of the first lead that were found while the body was parsed. */
  readonly issues?: readonly ValidationIssue[];
  /** Of a webhook: its lead with the answers of these fields as custom fields. */
  readonly withoutFields?: (fields: ReadonlySet<string | null>) => IntakeContent;
}

export interface ReceiveOptions {
  readonly store: Pick<IntakeStore, 'writeAllLeads' | 'findPlacementProblems'>;
  readonly user: PollingUser;
  /** The token that the leads are sent with. */
  readonly sender: Bearer;
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
  | { readonly kind: 'invalid'; readonly errors: readonly LeadError[] }
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
  const { store, user, sender } = options;
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  const parsed = await parseIntake(content, options);
  if (parsed.errors.length > 0)
    return { kind: 'invalid', errors: await addPlacementErrors(parsed, options, scope) };
  const outcome = await store.writeAllLeads(
    parsed.entries.map(({ lead }) => lead),
    scope,
    sender,
    identifyRequest(parsed.entries, options, scope),
  );
  if (outcome.kind !== 'rejected') return outcome;
  return { kind: 'invalid', errors: await addPlacementErrors(parsed, options, scope, outcome.problems) };
}

/** Another access level would place the leads elsewhere, so it makes another request. */
function identifyRequest(
  entries: readonly IntakeEntry[],
  { idempotencyKey, body, sender }: ReceiveOptions,
  scope: LeadScope,
): IdempotentRequest | undefined {
  if (idempotencyKey === undefined) return undefined;
  return {
    keyHash: hash('sha256', JSON.stringify([...keyOwner(scope.companyId, sender), idempotencyKey])),
    bodyHash: createHmac('sha256', idempotencyKey).update(JSON.stringify(scope)).update(body).digest('hex'),
    derivedIds: new Set(entries.flatMap(({ isIdDerived, lead }) => (isIdDerived ? (lead.id ?? []) : []))),
  };
}

/** A key belongs to its token, or to its user if the token has no id. */
const keyOwner = (companyId: string, { userId, tokenId }: Bearer): readonly unknown[] => [
  companyId,
  userId,
  tokenId ?? null,
];

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

async function parseIntake(
  { value, issues = [] }: IntakeContent,
  options: ReceiveOptions,
): Promise<ParsedIntake> {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const bodyError = findBodyError(value, items);
  if (bodyError) return { entries: [], errors: [bodyError] };
  const entries: IntakeEntry[] = [];
  const errors: LeadError[] = [];
  const firstUses = new Map<string, number>();
  const slices = new Slices();
  for (const [index, item] of items.entries()) {
    if (errors.length >= MAX_ERRORS) break;
    await slices.beginLead();
    const parsed = parseItem(item, options);
    // A form whose only fields have wrong names is not called empty as well.
    const ownIssues =
      index === 0 && issues.length > 0
        ? [...issues, ...parsed.issues.filter(({ detail }) => detail !== NO_CONTENT)]
        : parsed.issues;
    errors.push(...ownIssues.map((issue) => toError(index, issue)));
    if (!parsed.lead) continue;
    const lead = addId(parsed.lead, index, options);
    entries.push({ index, lead, isIdDerived: lead.id !== parsed.lead.id });
    if (lead.id === undefined) continue;
    const firstUse = firstUses.get(lead.id);
    if (firstUse === undefined) firstUses.set(lead.id, index);
    else
      errors.push({ index, field: 'id', detail: `is also the id of lead ${firstUse}; send each lead once` });
  }
  return { entries, errors };
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
  const count = names.filter((name) => !name.startsWith(CUSTOM_FIELD_PREFIX)).length;
  if (count > MAX_FIELDS || names.length > MAX_DOTTED_FIELDS)
    return {
      issues: [{ detail: `has ${formatCount(names.length)} fields; put your own fields under customFields` }],
    };
  const placed = placeInAccess(item, user);
  const parsed = requireContent(parseLead(placed.object, { historical: false, clock, times }));
  if (parsed.issues) return { lead: parsed.partialLead, issues: [...placed.issues, ...parsed.issues] };
  return { lead: parsed.lead, issues: placed.issues };
}

const PLACE_FIELDS = ['companyId', 'branchId', 'departmentId'] as const;

/**
 * Adds the place that the access level of the user fixes, if the lead does not name it. Another place is an error; the store
 * then checks the lead as if it were in the place of the user.
 */
function placeInAccess(item: Readonly<Record<string, unknown>>, user: PollingUser) {
  const { companyId, branchId, departmentId, accessLevel } = user;
  const issues: ValidationIssue[] = [];
  // Without a prototype, because a name may be __proto__.
  const object: Record<string, unknown> = Object.assign(Object.create(null), item);
  // The places of the user stand for an empty text, as for a field that is left out.
  for (const field of PLACE_FIELDS) {
    if (typeof object[field] === 'number') object[field] = String(object[field]);
    if (typeof object[field] === 'string' && isBlank(object[field])) delete object[field];
  }
  const given = object['companyId'];
  if (typeof given === 'string' && given !== companyId) {
    const detail = `${quote(given)} is not the company of your user; leave companyId out`;
    issues.push({ field: 'companyId', detail });
    object['companyId'] = companyId;
  }
  object['companyId'] ??= companyId;

  /** A value of another type is left to the parser. */
  const requirePlace = (field: 'branchId' | 'departmentId', own: string | null) => {
    const given = object[field];
    if (given === undefined || given === own || (given !== null && typeof given !== 'string')) return;
    issues.push({ field, detail: outsideScope(field, given) });
    delete object[field];
  };
  if (accessLevel === 'BRANCH') {
    requirePlace('branchId', branchId);
    object['branchId'] ??= branchId;
  }
  if (accessLevel === 'DEPARTMENT') {
    // The department determines the branch, so the branch is not added.
    requirePlace('branchId', branchId);
    requirePlace('departmentId', departmentId);
    object['departmentId'] ??= departmentId;
  }
  return { object, issues };
}

function addId(lead: LeadInput, index: number, { idempotencyKey, sender }: ReceiveOptions): LeadInput {
  if (lead.id !== undefined || idempotencyKey === undefined) return lead;
  return { ...lead, id: deriveId([...keyOwner(lead.companyId, sender), idempotencyKey, index]) };
}

/**
 * A UUID of version 8 (RFC 9562): 122 bits of a hash. It must never change, because a retry must get the id of the first
 * attempt, also after an update of Leadtap.
 */
function deriveId(parts: readonly unknown[]): string {
  const digits = hash('sha256', JSON.stringify(parts));
  const variant = '89ab'[Number.parseInt(digits.slice(15, 16), 16) % 4];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(12, 15)}`,
    `${variant}${digits.slice(16, 19)}`,
    digits.slice(19, 31),
  ].join('-');
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
  const all = (await store.findPlacementProblems?.(leads, { scope })) ?? [];
  const found = await mapInSlices(entries, (entry, at) => {
    const problems = all[at]?.length ? all[at] : rejections[at];
    return toErrors(problems ?? [], entry, user);
  });
  return [...errors, ...found.flat()].sort((a, b) => a.index - b.index).slice(0, MAX_ERRORS);
}

const toErrors = (
  problems: readonly PlacementProblem[],
  entry: IntakeEntry,
  user: PollingUser,
): LeadError[] => problems.map((problem) => toError(entry.index, toIssue(problem, entry, user)));

const KEY_IN_USE =
  'the lead that was sent with this Idempotency-Key was erased, or is outside the access level of your user; use another Idempotency-Key';

/** One message for what does not exist and for what the user has no access to: the sender must not find out which it is. */
function toIssue(
  problem: PlacementProblem,
  { isIdDerived }: IntakeEntry,
  { accessLevel }: PollingUser,
): ValidationIssue {
  const { field, reason, value } = problem;
  if (reason === 'not-stored' || reason === 'no-content' || reason === 'in-future')
    return placementIssue(problem);
  if (field === 'companyId' || field === 'statusValue') return placementIssue(problem);
  if (field === 'id' && isIdDerived) return { detail: KEY_IN_USE };
  return accessLevel === 'COMPANY' ? placementIssue(problem) : { field, detail: outsideScope(field, value) };
}
