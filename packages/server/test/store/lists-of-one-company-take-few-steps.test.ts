import { expect, it } from 'vitest';
import { firstStep, type ListStep, nextStep } from '../../src/leads/list-steps.ts';
import type { StoredLead } from '../../src/leads/record.ts';

/** Each step reads every company. `lookahead` bounds how many leads of one company it returns. */
it.each([
  [500, 3],
  [5000, 5],
])('a page of %i leads that all belong to one company takes %i steps', (limit, steps) => {
  const query = { since: 0, limit };
  const leads: StoredLead[] = [];
  const taken: ListStep[] = [];
  for (let step = firstStep(query); step !== undefined; step = nextStep(step, query, leads)) {
    taken.push(step);
    const count = Math.min(step.limit, step.lookahead === null ? step.limit : step.lookahead + 1);
    for (let at = 0; at < count; at += 1)
      leads.push({ companyId: 'acme', lead: { createdAt: leads.length + 1 } } as StoredLead);
  }
  expect([leads.length, taken.length]).toEqual([limit, steps]);
});
