/** Writes all leads of a request or none: a store throws these errors inside its transaction, and turns them into an outcome. */
import type { VerifiedToken } from '../accounts/records.ts';
import { findPlacementProblems, type Places } from '../leads/placement.ts';
import type { LeadInput, LeadScope } from '../leads/record.ts';
import type { LeadResult, WrittenLead } from '../leads/store.ts';
import { KeyReused } from './idempotency.ts';
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
type Accepted = Pick<WrittenLead, 'kind'>;

/** Thrown inside a transaction, so that it is rolled back. */
export class LeadsRejected extends Error {
  override readonly name = 'LeadsRejected';
  readonly problems: Extract<WriteAllOutcome, { kind: 'rejected' }>['problems'];

  constructor(leads: readonly LeadInput[], results: readonly (Accepted | Rejected)[], places: Places) {
    super('at least one of the leads was rejected');
    this.problems = results.map((result, index) => {
      const lead = leads[index];
      if (result.kind !== 'rejected' || lead === undefined) return [];
      const { problem } = result;
      if (problem.reason === 'outside-scope' || problem.reason === 'not-stored') return [problem];
      const problems = findPlacementProblems(lead, places);
      return problems.length > 0 ? problems : [problem];
    });
  }
}

/** Throws `LeadsRejected` if a lead was rejected. */
export function requireAllWritten<Written extends Accepted>(
  leads: readonly LeadInput[],
  results: readonly (Written | Rejected)[],
  places: Places,
): Written[] {
  const written = results.filter((result): result is Written => result.kind !== 'rejected');
  if (written.length < results.length) throw new LeadsRejected(leads, results, places);
  return written;
}

/** Turns the error of a rolled-back transaction into its outcome. */
export function toRejection(error: unknown): WriteAllOutcome {
  if (error instanceof LeadsRejected) return { kind: 'rejected', problems: error.problems };
  if (error instanceof KeyReused) return { kind: 'key-reused' };
  throw error;
}
