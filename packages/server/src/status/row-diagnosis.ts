/** What is said about one consumer: in the list of its user, and on the status page. */
import type { Consumer as WireConsumer } from '@leadtap/contract';
import { endOf, type Moment, notAllowedCause } from './consumer-problems.ts';
import type { ConsumerStatus } from './report.ts';
import { findUrgent } from './rules.ts';
import { agoOf, hostOf, pendingText } from './sentences.ts';

export type RowDiagnosis = Pick<WireConsumer, 'level' | 'problem' | 'message' | 'fix'>;

/** The state of one consumer, beside its name. */
export function diagnoseRow(
  consumer: ConsumerStatus,
  moment: Moment,
  fixFor: 'user' | 'operator',
): RowDiagnosis {
  const urgent = findUrgent(consumer, moment);
  if (urgent) {
    const fix = (fixFor === 'operator' && urgent.fix) || urgent.userFix;
    return { level: urgent.severity, problem: urgent.kind, message: urgent.row, fix };
  }
  const nothing = { problem: null, fix: null };
  if (hostOf(consumer) !== null) {
    const { state, hook } = consumer;
    if (state === 'inactive') return { ...nothing, level: state, message: endOf(consumer) };
    const lastAt = hook?.lastEventAt ?? null;
    const verb = hook?.isAccepted ? 'sent' : 'last tried';
    const sent = lastAt === null ? 'nothing sent yet' : `${verb} ${agoOf(moment, lastAt)}`;
    const cause = notAllowedCause(consumer, moment);
    const level = state === 'subscribed' || cause ? 'unknown' : 'good';
    return { ...nothing, level, message: withPending(consumer, cause ? `${cause}; ${sent}` : sent) };
  }
  if (consumer.lastPollAt === null) {
    const message = 'has not polled yet';
    return { ...nothing, level: 'unknown', message: withPending(consumer, message) };
  }
  const ago = agoOf(moment, consumer.lastPollAt);
  if (consumer.state === 'inactive') return { ...nothing, level: 'inactive', message: `last polled ${ago}` };
  const polled = `polled ${ago}${isAnswered(consumer.lastStatus) ? '' : `, answered with ${consumer.lastStatus}`}`;
  const message = consumer.isHeld
    ? 'at once: holds a poll'
    : `${consumer.hook?.isAllowed ? 'at once, by webhook: ' : ''}${polled}`;
  return { ...nothing, level: 'good', message: withPending(consumer, message) };
}

const isAnswered = (status: number | null): boolean => status === 200 || status === 304;

const withPending = ({ pendingLeads }: ConsumerStatus, message: string): string =>
  pendingLeads === 0 ? message : `${pendingText(pendingLeads)}; ${message}`;
