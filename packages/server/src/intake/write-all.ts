/** Writes all leads of a request or none: a store throws these errors inside its transaction, and turns them into an outcome. */
import type { VerifiedToken } from '../accounts/records.ts';
import { findPlacementProblems, type OrganisationLookup } from '../leads/placement.ts';
import type { LeadInput, LeadScope } from '../leads/record.ts';
import type { LeadResult, WrittenLead } from '../leads/store.ts';
import type { IdempotentRequest, WriteAllOutcome } from './store.ts';

/** The leads of one request over HTTP, as the parameters of `writeAllLeads`. */
export interface WriteRequest {
  readonly leads: readonly LeadInput[];
  readonly scope: LeadScope;
  readonly sender: VerifiedToken | undefined;
  readonly idempotency: IdempotentRequest | undefined;
}

type Rejected = Extract<LeadResult, { kind: 'rejected' }>;
/** A lead that is written, or will be. */
type Accepted = Pick<WrittenLead, 'kind' | 'id'>;

/** Thrown inside a transaction, so that it is rolled back. */
export class LeadsRejected extends Error {
  override readonly name = 'LeadsRejected';
  readonly problems: Extract<WriteAllOutcome, { kind: 'rejected' }>['problems'];

  constructor(
    leads: readonly LeadInput[],
    results: readonly (Accepted | Rejected)[],
    organisation: OrganisationLookup,
  ) {
    super('at least one of the leads was rejected');
    this.problems = results.map((result, index) => {
      const lead = leads[index];
      if (result.kind !== 'rejected' || lead === undefined) return [];
      const { problem } = result;
      if (['outside-scope', 'not-stored', 'other-person'].includes(problem.reason)) return [problem];
      const problems = findPlacementProblems(lead, organisation);
      return problems.length > 0 ? problems : [problem];
    });
  }
}

/** Thrown inside a transaction, so that it is rolled back. */
class KeyReused extends Error {
  override readonly name = 'KeyReused';
}

/**
 * Throws `KeyReused` if a derived id exists: then the key was used before, and has been forgotten. Throws `LeadsRejected` if a lead
 * was rejected.
 */
export function requireAllWritten<Written extends Accepted>(
  { leads, idempotency }: Pick<WriteRequest, 'leads' | 'idempotency'>,
  results: readonly (Written | Rejected)[],
  organisation: OrganisationLookup,
): Written[] {
  const existing = results.flatMap((result) => {
    if (result.kind === 'rejected')
      return result.problem.reason === 'other-person' ? result.problem.value : [];
    return result.kind === 'updated' ? result.id : [];
  });
  if (existing.some((id) => idempotency?.derivedIds.has(id)))
    throw new KeyReused('a lead with an id that is derived from this key exists');
  const written = results.filter((result): result is Written => result.kind !== 'rejected');
  if (written.length < results.length) throw new LeadsRejected(leads, results, organisation);
  return written;
}

/** Turns the error of a rolled-back transaction into its outcome. */
export function toRejection(error: unknown): WriteAllOutcome {
  if (error instanceof LeadsRejected) return { kind: 'rejected', problems: error.problems };
  if (error instanceof KeyReused) return { kind: 'key-reused' };
  throw error;
}
