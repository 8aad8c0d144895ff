/** What became of a lead, for each connection that leads go to. */
import type { LeadConnections } from '@leadtap/contract';
import { toIsoOrNull } from '../lib/clock.ts';
import type { LeadOutcome, MissedReason } from './store.ts';

const MISSED: Readonly<Record<MissedReason, string>> = {
  passed: 'it asked past it',
  moved: 'it was assigned to it too late',
  narrowed: 'it may not see it any more',
  'not-recorded': 'perhaps sent just before the service stopped',
};

const ORDER: readonly LeadOutcome['state'][] = ['missed', 'waiting', 'sent', 'none'];

/** Those without it come first. */
export const listOutcomes = (outcomes: readonly LeadOutcome[]): LeadConnections['out'] =>
  outcomes
    .toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
    .map((outcome) => {
      const { id, name, state } = outcome;
      return { id, name, state, at: toIsoOrNull(timeOf(outcome)), why: whyOf(outcome) };
    });

function timeOf({ state, sentAt, missedAt, createdAt }: LeadOutcome): number | null {
  if (state === 'waiting') return createdAt;
  return state === 'missed' ? missedAt : sentAt;
}

function whyOf(outcome: LeadOutcome): string | null {
  const { state, why, handledAt, createdAt, addedAt, startStamp, endedAt, isVisible } = outcome;
  if (state === 'missed')
    return `${why === null ? '' : MISSED[why]}${handledAt === null ? '' : '; marked as handled'}`;
  if (state !== 'none') return null;
  if (!isVisible) return 'it is of another place';
  if (addedAt !== createdAt) return 'it is imported history';
  if (startStamp === null || createdAt <= startStamp) return 'it came before it was connected';
  return endedAt === null ? 'it is not meant for it' : 'it came after it had ended';
}
