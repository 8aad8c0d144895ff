/** The state of a sender in words. */
import type { StatusRow } from '@leadtap/contract';
import type { Facts, SenderProblem, SenderStatus } from './report.ts';
import { describeSender } from './sender-problems.ts';
import { agoOf } from './sentences.ts';

const WARNINGS: readonly SenderProblem[] = ['intake-off', 'senders-expiring'];

/** In words. */
export function stateOf(sender: SenderStatus, moment: Pick<Facts, 'generatedAt'>): StatusRow {
  const found = describeSender(sender, moment);
  if (found) {
    const level = sender.problems.every((problem) => WARNINGS.includes(problem)) ? 'warning' : 'error';
    return { level, message: found.row, fix: found.fix };
  }
  const { lastAcceptedAt, isRevoked, isInUse } = sender;
  const lead = lastAcceptedAt === null ? 'no lead yet' : `last lead ${agoOf(moment, lastAcceptedAt)}`;
  if (isRevoked) return { level: 'inactive', message: `its token was revoked; ${lead}`, fix: null };
  if (!isInUse) return { level: 'inactive', message: lead, fix: null };
  return { level: lastAcceptedAt === null ? 'unknown' : 'good', message: lead, fix: null };
}
