/** Puts a refused request through the intake again, for `leads refused accept`. */
import { isDeepStrictEqual } from 'node:util';
import type { LeadError } from '@leadtap/contract';
import { ProblemError } from '../http/problems.ts';
import type { PollingUser } from '../leads/access.ts';
import { createLeadTimes } from '../leads/lead-times.ts';
import type { LeadInput, LeadScope, StoredLead } from '../leads/record.ts';
import type { LeadStore, WrittenLead } from '../leads/store.ts';
import type { Clock } from '../lib/clock.ts';
import { isJsonObject } from '../lib/json.ts';
import { type IntakeContent, type ReceiveOptions, receiveLeads } from './accept.ts';
import { mediaTypeOf } from './body.ts';
import { parseContent } from './content.ts';
import type { IdempotentRequest, RefusedLeadWithBody, WriteAllOutcome } from './store.ts';

export interface AcceptOptions {
  readonly store: ReceiveOptions['store'] & Pick<LeadStore, 'planLeads' | 'findLeads'>;
  /** The user of the request, as it is now. */
  readonly user: PollingUser;
  readonly clock: Clock;
  /** Of times without an offset, if the token has none. */
  readonly timeZone: string;
  /** The fields that names of the body, or labels of the answers of a form service, stand for. */
  readonly map: Readonly<Record<string, string>>;
  readonly dryRun?: boolean | undefined;
}

export type AcceptOutcome =
  | {
      readonly kind: 'accepted';
      readonly results: readonly WrittenLead[];
      readonly leads: readonly LeadInput[];
      /** Those whose `id` is that of another person: they have a new one. */
      readonly withNewId: ReadonlySet<number>;
    }
  /** Its leads were written before, and the row was not deleted. */
  | { readonly kind: 'written-before' }
  | { readonly kind: 'refused'; readonly message: string; readonly errors: readonly LeadError[] };

const NOT_VALID = 'at least one lead is not valid';
const CHANGED_SINCE =
  'is the id of a lead that was changed since; keep both with --map id=customFields.id, or delete the request';

/** All or nothing. The ids of leads without one derive from the id of the row, so that nothing is added twice. */
export async function acceptRefused(
  refused: RefusedLeadWithBody,
  options: AcceptOptions,
): Promise<AcceptOutcome> {
  const { user, clock, map, dryRun } = options;
  const leads: LeadInput[] = [];
  const store: ReceiveOptions['store'] = {
    findPlacementProblems: options.store.findPlacementProblems,
    writeAllLeads: async (given, scope, sender, request) => {
      leads.splice(0, leads.length, ...given);
      const planned = await planAll(options.store, given, scope, request);
      if (planned.kind === 'written') await requireUnchanged(options.store, given, refused.lastAt);
      return dryRun || planned.kind === 'key-reused'
        ? planned
        : options.store.writeAllLeads(given, scope, sender, request);
    },
  };
  const times = createLeadTimes({ timeZone: refused.timeZone ?? options.timeZone });
  try {
    const content = await parseSent(refused, map, { historical: false, clock, times });
    const rules: ReceiveOptions = {
      ...{ store, user, clock, times },
      // Not the token, which may be revoked by now.
      sender: { userId: user.id },
      idempotencyKey: `refused ${refused.id}`,
      body: refused.body,
    };
    let outcome = await receiveLeads(content, rules);
    const withNewId = new Set(
      outcome.kind === 'other-person' ? outcome.errors.map(({ index }) => index) : [],
    );
    if (withNewId.size > 0) outcome = await receiveLeads(withoutIds(content, withNewId), rules);
    if (outcome.kind === 'key-reused' || (outcome.kind === 'written' && outcome.isRepeated))
      return { kind: 'written-before' };
    if (outcome.kind === 'written') return { kind: 'accepted', results: outcome.results, leads, withNewId };
    const [message, errors] =
      outcome.kind === 'account-changed'
        ? ['the user has changed meanwhile; run the command again', []]
        : [NOT_VALID, outcome.errors];
    return { kind: 'refused', message, errors };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.statusCode >= 500) throw error;
    const errors = error.parts.errors?.flatMap((one) => ('index' in one ? [one] : [])) ?? [];
    return { kind: 'refused', message: error.parts.detail ?? error.message, errors };
  }
}

/** Leads without an id get one that derives from the id of the row. */
function withoutIds({ value, withoutFields }: IntakeContent, indexes: ReadonlySet<number>): IntakeContent {
  const strip = (item: unknown, index: number): unknown =>
    isJsonObject(item) && indexes.has(index) ? { ...item, id: undefined } : item;
  return {
    value: Array.isArray(value) ? value.map(strip) : strip(value, 0),
    ...(withoutFields && { withoutFields: (fields) => withoutIds(withoutFields(fields), indexes) }),
  };
}

/** Throws 422 if a lead would replace later values. */
async function requireUnchanged(
  store: AcceptOptions['store'],
  leads: readonly LeadInput[],
  refusedAt: number,
): Promise<void> {
  const errors: LeadError[] = [];
  for (const [index, input] of leads.entries()) {
    const { id, companyId } = input;
    const [stored] = id === undefined ? [] : await store.findLeads(id, companyId);
    if (!stored || hasSameValues(stored, input)) continue;
    if (stored.lead.updatedAt > refusedAt) errors.push({ index, field: 'id', detail: CHANGED_SINCE });
  }
  if (errors.length > 0) throw new ProblemError('invalid-lead', { detail: NOT_VALID, errors });
}

/** Accepted before, and the row was not deleted. */
const hasSameValues = (
  stored: StoredLead,
  { statusValue, branchId, departmentId, fields }: LeadInput,
): boolean =>
  [
    ...Object.entries(fields).map(([name, value]) => [value, Reflect.get(stored.lead, name)]),
    ...[
      [statusValue, stored.lead.status.value],
      [branchId, stored.branchId],
      [departmentId, stored.departmentId],
    ],
  ].every(([given, value]) => given === undefined || isDeepStrictEqual(given, value));

/** What `writeAllLeads` would return. */
async function planAll(
  store: AcceptOptions['store'],
  leads: readonly LeadInput[],
  scope: LeadScope,
  request?: IdempotentRequest,
): Promise<WriteAllOutcome> {
  const planned = await store.planLeads(leads);
  const isRepeated = planned.some(
    ({ kind }, at) => kind === 'updated' && request?.derivedIds.has(leads[at]?.id ?? ''),
  );
  if (isRepeated) return { kind: 'key-reused' };
  const found = await store.findPlacementProblems(leads, { scope });
  const problems = planned.map((lead, at) => {
    if (found[at]?.length) return found[at];
    return lead.kind === 'rejected' ? [lead.problem] : [];
  });
  if (problems.some((of) => of.length > 0)) return { kind: 'rejected', problems };
  const results = planned.flatMap(({ kind }, at) =>
    kind === 'rejected' ? [] : [{ kind, id: leads[at]?.id ?? '', createdAt: 0 }],
  );
  return { kind: 'written', results };
}

function parseSent(
  { body: bytes, mediaType: contentType, source, answerMap }: RefusedLeadWithBody,
  map: AcceptOptions['map'],
  options: Parameters<typeof parseContent>[2],
) {
  const mediaType = mediaTypeOf(contentType);
  const tokenSource = source === null ? undefined : { name: source, map: { ...answerMap, ...map } };
  return parseContent({ bytes, mediaType, contentType }, tokenSource, { ...options, names: map });
}
