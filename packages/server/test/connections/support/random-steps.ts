/** Random histories of connections. */
import fc from 'fast-check';
import { CLIENTS, type ClientName, type Step } from './history.ts';

const place = fc.constantFrom('north', 'north', 'south', null);
const limit = fc.constantFrom(100, 100, 100, 3, 1);
/** Counted from the newest. */
const lead = fc.oneof(fc.nat(5), fc.nat(300));

const stepOf = (who: fc.Arbitrary<ClientName>): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('add'), place, count: fc.integer({ min: 1, max: 3 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('add'), place, count: fc.integer({ min: 101, max: 250 }) }),
    },
    {
      weight: 10,
      arbitrary: fc.record({
        do: fc.constant('poll'),
        who,
        limit,
        on: fc.nat(1),
        isCut: fc.constantFrom(false, false, false, true),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('sample'), who, limit }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('ask'), who, after: lead }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('settle'), who, times: fc.integer({ min: 2, max: 11 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('wait'), minutes: fc.constantFrom(1, 2, 3, 12, 40) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('move'), lead, place }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('access'),
        who,
        access: fc.constantFrom('company', 'north', 'south'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom('expire', 'revoke', 'renew', 'handle'), who }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('import'),
        count: fc.integer({ min: 1, max: 40 }),
        minutesAgo: fc.integer({ min: 1, max: 5000 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('erase'), lead }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('prune'), count: fc.integer({ min: 1, max: 5 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('kill'), polls: fc.array(who, { maxLength: 4 }) }) },
  );

/** Few clients, to which much happens. */
export const steps = fc
  .subarray([...CLIENTS], { minLength: 1, maxLength: 3 })
  .chain((names) => fc.array(stepOf(fc.constantFrom(...names)), { minLength: 5, maxLength: 25 }));
