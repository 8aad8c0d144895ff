/** The report: the facts, and what the rules find in them. `StatusJson` of the contract is what `/status.json` has of it. */
import type {
  ConsumerCounts,
  ConsumerProblem,
  SenderCounts,
  SenderStatus,
  ServiceFacts,
  Diagnosis as WireDiagnosis,
  StatusProblem as WireProblem,
} from '@leadtap/contract';
import type { consumerFactsOf } from './consumer-states.ts';

export {
  CONSUMER_PROBLEMS,
  type ConsumerProblem,
  type HooksStatus,
  type InstanceFacts,
  type LeadCoverage,
  type Refusal,
  type RefusalCount,
  type RefusedConsumer,
  type RequestError,
  SENDER_PROBLEMS,
  type SenderProblem,
  type SenderRefused,
  type SenderStatus,
  type StatusJson,
  type UnseenPlace,
} from '@leadtap/contract';

/** One consumer, sender, hook or place that has a problem, for alerts. Only in memory. */
export interface ProblemSubject extends Pick<StatusProblem, 'message' | 'fix' | 'severity'> {
  /** Stays the same while the subject exists. */
  readonly key: string;
  readonly name: string;
}

export interface StatusProblem extends WireProblem {
  /** Undefined: the problem has no subjects. Not in `/status.json`. */
  readonly subjects?: readonly ProblemSubject[] | undefined;
  /** Not all subjects are listed. Not in `/status.json`. */
  readonly hasMoreSubjects?: boolean | undefined;
}

/**
 * One consumer: a token that polls or has a webhook subscription, a user whose tokens have no id, or a webhook subscription that sends
 * leads. `toConsumerJson` writes it with its public names.
 */
export interface ConsumerStatus extends ReturnType<typeof consumerFactsOf> {
  readonly problems: readonly ConsumerProblem[];
  /** The public id of its token or webhook. */
  readonly key: string;
  /** It waits for a lead (`Prefer: wait`). Not in `/status.json`. */
  readonly isHeld: boolean;
}

export interface ConsumersStatus extends ConsumerCounts {
  /** Those of `StatusJson`. */
  readonly listed: readonly ConsumerStatus[];
}

export interface SendersStatus extends SenderCounts {
  /** Those of `StatusJson`. */
  readonly listed: readonly SenderStatus[];
}

export const NO_SENDERS: SendersStatus = {
  ...{ recorded: false, total: 0, listed: [] },
  problems: {
    ...{ 'leads-refused': 0, 'intake-off': 0, 'senders-expired': 0 },
    'senders-expiring': 0,
  },
};

/** What the rules are applied to. */
export interface Facts extends ServiceFacts {
  /** Null if they could not be read. */
  readonly consumers: ConsumersStatus | null;
  /** Null if they could not be read. */
  readonly senders: SendersStatus | null;
}

/** What follows from the facts. */
export type Diagnosis = WireDiagnosis<StatusProblem>;

export interface StatusReport extends Facts, Diagnosis {
  /** `good` or `note`, and the messages of all problems. */
  readonly summary: string;
}
