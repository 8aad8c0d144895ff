import fc from 'fast-check';
import { mostly, type NetworkStep, networkStep } from './schedule.ts';

/** One call of `sendLeads`. */
export interface CallStep {
  /** For each lead, whether it has an id of the caller. */
  readonly hasId: readonly boolean[];
  readonly hasOwnKey: boolean;
  readonly maxAttempts: number;
}

export interface SendSchedule {
  readonly random: number;
  readonly calls: readonly CallStep[];
  readonly network: readonly NetworkStep[];
}

const hasId = fc.oneof(
  { weight: 30, arbitrary: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }) },
  // More than one request has room for.
  { weight: 1, arbitrary: fc.boolean().map((isGiven) => Array.from({ length: 1001 }, () => isGiven)) },
);

const call: fc.Arbitrary<CallStep> = fc.record({
  hasId,
  hasOwnKey: fc.boolean(),
  maxAttempts: mostly(8, fc.integer({ min: 1, max: 3 }), 1),
});

/** Nothing on the way gives an old answer to a POST. */
const step = networkStep.map(
  ({ fault, ...rest }): NetworkStep => ({ ...rest, fault: fault === 'stale-answer' ? 'none' : fault }),
);

export const sendSchedules: fc.Arbitrary<SendSchedule> = fc.record({
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  calls: fc.array(call, { minLength: 1, maxLength: 4 }),
  network: fc.array(step, { maxLength: 12 }),
});
