/** The definition of connections: in any history, what is said of each lead equals what was written to sockets. */
import fc from 'fast-check';
import { expect, inject, it } from 'vitest';
import { propertyRuns } from '../../../testing/vitest/nightly.ts';
import { History, type Step } from './support/history.ts';
import { steps } from './support/random-steps.ts';

/** A database that asks the test for the time takes longer for each history. */
const HISTORIES = { sqlite: 6, postgres: 3 };

async function play(sequence: readonly Step[]): Promise<void> {
  const history = await History.start();
  try {
    await history.run(sequence);
  } finally {
    await history.stop();
  }
}

/** Histories that were false once. */
const FOUND: readonly { readonly name: string; readonly history: readonly Step[] }[] = [
  {
    name: 'a time that is asked for after a crash is no receipt, also when the audit sees it twice',
    history: [
      { do: 'add', place: 'north', count: 1 },
      { do: 'kill', polls: [] },
      { do: 'poll', who: 'own', isCut: true },
      { do: 'wait', minutes: 2 },
      { do: 'poll', who: 'own' },
    ],
  },
  {
    name: 'leads that are pruned while they wait stay red',
    history: [
      { do: 'settle', who: 'link', times: 10 },
      { do: 'add', place: 'north', count: 3 },
      { do: 'prune', count: 2 },
    ],
  },
  {
    name: 'narrowed access misses leads without a branch, too',
    history: [
      { do: 'poll', who: 'own' },
      { do: 'add', place: null, count: 3 },
      { do: 'access', who: 'own', access: 'south' },
    ],
  },
  {
    name: 'what was asked for before a crash is no receipt',
    history: [
      { do: 'settle', who: 'link', times: 2 },
      { do: 'add', place: 'north', count: 1 },
      { do: 'ask', who: 'link', after: 0 },
      { do: 'kill', polls: [] },
    ],
  },
];

it.each(FOUND)('$name', async ({ history }) => expect(await play(history)).toBeUndefined());

it('in any history, what is said of each lead equals what was written to sockets', async () => {
  expect.hasAssertions();
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      await play(sequence);
      expect(sequence.length).toBeGreaterThan(0);
    }),
    { numRuns: propertyRuns(HISTORIES[inject('store')]) },
  );
});
