/**
 * Consumers of different kinds poll while leads are written and instances and consumers crash at random. In the end, the recorded
 * positions say of every lead and every consumer what the consumer itself knows, but for polls right before a crash.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { LeadState } from '@leadtap/contract';
import { Random } from '../random.ts';
import { CONSUMER_KINDS, type ConsumerKind, type OwnPoll, TrialConsumer } from './trial-consumer.ts';

export interface PositionTrialOptions {
  /** The instances. Each keeps its address when it is started again. */
  readonly urls: readonly string[];
  readonly tokens: Readonly<Record<ConsumerKind, string>>;
  addLeads(count: number): Promise<void>;
  /** Kills an instance without any warning and starts it again. Gives the time from which on its polls may be lost from the records. */
  crash(index: number): Promise<number>;
  readonly leads: number;
  /** Of each consumer. A user may poll 100 times a minute. */
  readonly polls: number;
  readonly pauseMs: number;
  readonly maxLimit: number;
  readonly waitS: number;
  readonly crashes: number;
  readonly seed: number;
}

export interface PositionTrial {
  readonly consumers: readonly TrialConsumer[];
  readonly instanceCrashes: number;
  /** The states that are right for a lead and a consumer: one, or several if polls right before a crash decide. */
  allowedStates(kind: ConsumerKind, createdAt: number): ReadonlySet<LeadState>;
}

/** Stamps of a batch of leads are ahead of the clock by less. */
const MAX_AHEAD_MS = 1000;
/** The last polls are without crashes of instances. */
const CALM_SHARE = 0.25;

export async function runPositionTrial(options: PositionTrialOptions): Promise<PositionTrial> {
  const { urls, tokens, polls, leads, seed } = options;
  const consumers = CONSUMER_KINDS.map(
    (kind, index) =>
      new TrialConsumer({ ...options, kind, token: tokens[kind], random: new Random(seed * 1009 + index) }),
  );
  const random = new Random(seed);
  const crashes: Crash[] = [];
  let done = 0;
  const progress = () => done / (polls * consumers.length);
  const untilProgress = async (share: number) => {
    while (progress() < share) await wait(5);
  };
  const polling = consumers.map(async (consumer) => {
    for (let count = 0; count < polls; count += 1) {
      await consumer.poll();
      done += 1;
      await wait(random.below(2 * options.pauseMs + 1));
    }
  });
  const writing = async () => {
    const batches = 40;
    for (let batch = 0; batch < batches; batch += 1) {
      await untilProgress(batch / batches);
      await options.addLeads(Math.ceil(leads / batches));
    }
  };
  const crashing = async () => {
    for (let count = 1; count <= options.crashes; count += 1) {
      await untilProgress(((1 - CALM_SHARE) * count) / (options.crashes + 1));
      const instance = random.below(urls.length);
      const lostFrom = await options.crash(instance);
      crashes.push({ instance, lostFrom, endedAt: Date.now() });
    }
  };
  await Promise.all([...polling, writing(), crashing()]);
  return {
    consumers,
    instanceCrashes: crashes.length,
    allowedStates(kind, createdAt) {
      const consumer = consumers.find((found) => found.kind === kind);
      return statesOf(consumer, crashes, createdAt);
    },
  };
}

interface Crash {
  readonly instance: number;
  readonly lostFrom: number;
  readonly endedAt: number;
}

function statesOf(
  consumer: TrialConsumer | undefined,
  crashes: readonly Crash[],
  createdAt: number,
): ReadonlySet<LeadState> {
  const isUncertain = (poll: OwnPoll): boolean =>
    poll.isBroken ||
    crashes.some(
      ({ instance, lostFrom, endedAt }) =>
        instance === poll.instance && poll.endedAt >= lostFrom && poll.endedAt <= endedAt,
    );
  const polls = consumer?.polls ?? [];
  const certain = polls.filter((poll) => !isUncertain(poll));
  const reaches = (time: number | undefined): boolean => time !== undefined && time >= createdAt;
  const uncertain = polls.filter(isUncertain);
  const hasLead = (poll: OwnPoll): boolean => poll.leads.has(createdAt);
  /** A tick is for leads of pages that have arrived. What was sent and not recorded, or too many gaps to keep apart, may count as skipped. */
  const ticked = (state: LeadState): LeadState[] => {
    const isSent = certain.some(hasLead);
    const mayBeSent = uncertain.some((poll) => hasLead(poll) || poll.isBroken);
    const mayBeSkipped = !isSent || consumer?.kind === 'newest';
    return [...(isSent || mayBeSent ? [state] : []), ...(mayBeSkipped ? (['skipped'] as const) : [])];
  };
  if (certain.some(({ since }) => reaches(since))) return new Set(ticked('confirmed'));
  const states = new Set<LeadState>(
    certain.some(({ received }) => reaches(received)) ? ticked('delivered') : ['waiting'],
  );
  // What a broken poll has delivered is unknown to the consumer, but no lead that was written later.
  const mayHaveDelivered = (poll: OwnPoll): boolean =>
    poll.isBroken ? createdAt <= poll.endedAt + MAX_AHEAD_MS : reaches(poll.received);
  const mayBe: LeadState[] = [
    ...(uncertain.some(mayHaveDelivered) ? (['delivered'] as const) : []),
    ...(uncertain.some(({ since }) => reaches(since)) ? (['confirmed'] as const) : []),
  ];
  for (const state of mayBe.flatMap(ticked)) states.add(state);
  return states;
}
