import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HistoryTimes } from '../../../src/store/postgres/history-times.ts';

const wanted = fc.array(
  fc.record({ companyId: fc.constantFrom('a', 'b'), time: fc.integer({ min: -6, max: 12 }) }),
);

test('each gets the first time from the wanted one on that nobody before it has', () => {
  fc.assert(
    fc.property(wanted, (leads) => {
      const times = new HistoryTimes();
      const taken = new Set<string>();
      for (const { companyId, time } of leads) {
        let free = time;
        while (taken.has(`${companyId} ${free}`)) free += 1;
        taken.add(`${companyId} ${free}`);
        expect(times.take(companyId, time)).toBe(free);
      }
    }),
  );
});

test('two times are of one run if and only if there is no gap between them', () => {
  fc.assert(
    fc.property(wanted, (leads) => {
      const times = new HistoryTimes();
      const seats = leads.map(({ companyId, time }) => ({ companyId, time: times.take(companyId, time) }));
      const runOf = times.numberRuns();
      for (const one of seats)
        for (const other of seats) {
          const between = seats.filter(
            ({ companyId, time }) => companyId === one.companyId && time >= one.time && time <= other.time,
          );
          if (other.time < one.time) continue;
          const isOneRun = one.companyId === other.companyId && between.length === other.time - one.time + 1;
          const sameNumber = runOf(one.companyId, one.time) === runOf(other.companyId, other.time);
          expect(sameNumber).toBe(isOneRun);
        }
    }),
  );
});
