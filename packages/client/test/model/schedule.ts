import fc from 'fast-check';

/** What becomes of one request on its way there or back. */
export const FAULTS = [
  'none',
  'request-cut',
  'answer-lost',
  'answer-cut',
  'answer-cut-unnoticed',
  'slow-bytes',
  'silence',
  'silence-in-answer',
  'stale-answer',
  '429',
  '500',
  '503',
  'proxy-502',
  'proxy-page',
] as const;

export type Fault = (typeof FAULTS)[number];

/** One request, and what happens around it. */
export interface NetworkStep {
  readonly fault: Fault;
  readonly leadsBefore: number;
  /** Leads that are committed after the page was read and before it arrives. */
  readonly leadsMeanwhile: number;
  readonly retryAfterS: number;
  readonly isServiceRestarted: boolean;
  /** The consumer's process dies while the request is on its way. */
  readonly isConsumerKilled: boolean;
  /** Other programs of the same user leave only so many requests. */
  readonly requestsLeft: number | undefined;
}

/** What the consumer does with one lead. */
export type Handling =
  | 'take'
  | 'stop-after'
  | 'throw'
  | 'killed-while-handling'
  | 'killed-before-save'
  | 'killed-after-save';

export interface ConsumerStep {
  readonly handling: Handling;
  readonly tookMs: number;
}

export interface Schedule {
  /** Keeps what it makes of a lead and the checkpoint in one transaction, so that it may die at any moment. */
  readonly isTransactional: boolean;
  readonly beginsNow: boolean;
  readonly random: number;
  readonly network: readonly NetworkStep[];
  readonly consumer: readonly ConsumerStep[];
}

/** Mostly the first, so that a schedule is not all trouble. */
export const mostly = <T>(usual: T, other: fc.Arbitrary<T>, times = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight: times, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const leadCount = fc.oneof(
  { weight: 30, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.constantFrom(99, 100, 101, 230) },
);

export const networkStep: fc.Arbitrary<NetworkStep> = fc.record({
  fault: mostly<Fault>('none', fc.constantFrom(...FAULTS), 1),
  leadsBefore: leadCount,
  leadsMeanwhile: mostly(0, fc.nat(2)),
  retryAfterS: fc.integer({ min: 1, max: 90 }),
  isServiceRestarted: mostly(false, fc.constant(true), 70),
  isConsumerKilled: mostly(false, fc.constant(true), 15),
  requestsLeft: mostly<number | undefined>(undefined, fc.nat(2), 120),
});

const consumerStep = (isTransactional: boolean): fc.Arbitrary<ConsumerStep> => {
  const everywhere: Handling[] = ['stop-after', 'throw', 'killed-while-handling', 'killed-after-save'];
  const others = isTransactional ? [...everywhere, 'killed-before-save' as const] : everywhere;
  return fc.record({
    handling: mostly<Handling>('take', fc.constantFrom(...others)),
    tookMs: mostly(0, fc.nat(200_000), 6),
  });
};

export const schedules: fc.Arbitrary<Schedule> = fc.boolean().chain((isTransactional) =>
  fc.record({
    isTransactional: fc.constant(isTransactional),
    beginsNow: mostly(false, fc.constant(true), 3),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    network: fc.array(networkStep, { maxLength: 10 }),
    consumer: fc.array(consumerStep(isTransactional), { maxLength: 20 }),
  }),
);

export const ALL_WELL: NetworkStep = {
  fault: 'none',
  leadsBefore: 0,
  leadsMeanwhile: 0,
  retryAfterS: 1,
  isServiceRestarted: false,
  isConsumerKilled: false,
  requestsLeft: undefined,
};
