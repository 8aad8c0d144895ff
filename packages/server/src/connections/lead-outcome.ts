/** Why a lead was missed, or is not meant for a connection. */
import type { LeadOutcome, MissedReason } from './store.ts';

const MISSED: Readonly<Record<MissedReason, string>> = {
  passed: 'it asked past it',
  moved: 'it was assigned to it too late',
  narrowed: 'it may not see it any more',
  'not-recorded': 'perhaps sent just before the service stopped',
};

type Outcome = Pick<
  LeadOutcome,
  'state' | 'why' | 'handledAt' | 'createdAt' | 'addedAt' | 'startStamp' | 'endedAt' | 'isVisible'
>;

export function whyOf(outcome: Outcome): string | null {
  const { state, why, handledAt, createdAt, addedAt, startStamp, endedAt, isVisible } = outcome;
  if (state === 'missed')
    return `${why === null ? '' : MISSED[why]}${handledAt === null ? '' : '; marked as handled'}`;
  if (state !== 'none') return null;
  if (!isVisible) return 'it is of another place';
  if (addedAt !== createdAt) return 'it is imported history';
  if (startStamp === null || createdAt <= startStamp) return 'it came before it was connected';
  return endedAt === null ? 'it is not meant for it' : 'it came after it had ended';
}
