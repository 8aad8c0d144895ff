/** Puts a refused request through the intake again, for `leads refused accept`. */
import type { LeadError } from '@leadtap/contract';
import { ProblemError } from '../http/problems.ts';
import type { PollingUser } from '../leads/access.ts';
import { createLeadTimes } from '../leads/lead-times.ts';
import type { LeadInput } from '../leads/record.ts';
import type { WrittenLead } from '../leads/store.ts';
import type { Clock } from '../lib/clock.ts';
import { type ReceiveOptions, receiveLeads } from './accept.ts';
import { mediaTypeOf } from './body.ts';
import { parseContent } from './content.ts';
import type { RefusedLeadWithBody } from './store.ts';

export interface AcceptOptions {
  readonly store: ReceiveOptions['store'];
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
    }
  /** Its leads were written before, and the row was not deleted. */
  | { readonly kind: 'written-before' }
  | { readonly kind: 'refused'; readonly message: string; readonly errors: readonly LeadError[] };

/** All or nothing. The ids of leads without one derive from the id of the row, so that nothing is added twice. */
export async function acceptRefused(
  refused: RefusedLeadWithBody,
  options: AcceptOptions,
): Promise<AcceptOutcome> {
  const { user, clock, map, dryRun } = options;
  const leads: LeadInput[] = [];
  const store: ReceiveOptions['store'] = {
    findPlacementProblems: options.store.findPlacementProblems,
    writeAllLeads: async (given, scope, ...rest) => {
      leads.splice(0, leads.length, ...given);
      if (!dryRun) return options.store.writeAllLeads(given, scope, ...rest);
      const problems = await options.store.findPlacementProblems(given, { scope });
      if (problems.some((of) => of.length > 0)) return { kind: 'rejected', problems };
      return { kind: 'written', results: given.map(({ id = '' }) => ({ kind: 'added', id, createdAt: 0 })) };
    },
  };
  const times = createLeadTimes({ timeZone: refused.timeZone ?? options.timeZone });
  try {
    const content = await parseSent(refused, map, { historical: false, clock, times });
    const outcome = await receiveLeads(content, {
      ...{ store, user, clock, times },
      // Not the token, which may be revoked by now.
      sender: { userId: user.id },
      idempotencyKey: `refused ${refused.id}`,
      body: refused.body,
    });
    if (outcome.kind === 'written') return { kind: 'accepted', results: outcome.results, leads };
    if (outcome.kind === 'key-reused') return { kind: 'written-before' };
    const [message, errors] =
      outcome.kind === 'invalid'
        ? ['at least one lead is not valid', outcome.errors]
        : ['the user has changed meanwhile; run the command again', []];
    return { kind: 'refused', message, errors };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.statusCode >= 500) throw error;
    const errors = error.parts.errors?.flatMap((one) => ('index' in one ? [one] : [])) ?? [];
    return { kind: 'refused', message: error.parts.detail ?? error.message, errors };
  }
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
