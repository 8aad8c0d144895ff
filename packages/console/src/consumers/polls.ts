/** What the last poll of a consumer says. */
import type { Consumer } from '@leadtap/contract';

export type PolledConsumer = Consumer & {
  readonly firstPollAt: string;
  readonly lastPollAt: string;
  readonly lastStatus: number;
};

export const hasPolled = (consumer: Consumer): consumer is PolledConsumer => consumer.lastPollAt !== null;

export const isAnswered = (status: number): boolean => status === 200 || status === 304;

export const isStopped = ({ state }: Consumer): boolean => state === 'stale' || state === 'inactive';

/** Why a poll got no leads, and what to do. */
const REFUSALS: Readonly<Record<number, readonly [reason: string, nextStep: string]>> = {
  400: ['something in the request is not valid (400)', 'Compare its settings with the steps in Connect.'],
  401: [
    'its token is no longer valid (401)',
    'Ask the operator for a new token, and put it into the automation.',
  ],
  403: [
    'its user or token may not read leads (403)',
    'Ask the operator whether the user has the Professional plan.',
  ],
  429: [
    'too many requests (429)',
    'Let it poll less often. All programs with a token of this user count together.',
  ],
  499: ['it closed the connection before the answer (499)', 'Its time limit may be too short.'],
};

export const refusalOf = (status: number): readonly [reason: string, nextStep: string] =>
  REFUSALS[status] ?? [
    `the service could not answer (${status})`,
    'It polls again by itself. If it stays like this, ask the operator.',
  ];

/** `2 leads are pending`; counted up to 1,000. */
export const formatPending = (count: number): string =>
  count === 1
    ? '1 lead is pending'
    : `${count === 0 ? 'No' : count}${count >= 1000 ? ' or more' : ''} leads are pending`;
