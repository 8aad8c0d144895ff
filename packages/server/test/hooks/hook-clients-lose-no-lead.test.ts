import { expect, it } from 'vitest';
import { findingsOf, lossesOf, runTrial } from '../../../testing/harness/hook-trial.ts';

const NOTHING = { lost: [], outOfOrder: [], otherIds: [], hidden: [] };

it('a client that polls on each event, or gets the leads, loses nothing while receivers fail and instances are killed', async () => {
  const verdict = await runTrial({ instances: 2, leads: 300, seconds: 5, msPerCrash: 1500 });
  expect(lossesOf(verdict)).toEqual([]);
  expect(verdict.clients.map(({ followedRedirects }) => followedRedirects)).toEqual(
    verdict.clients.map(() => 0),
  );
  expect(findingsOf(verdict)).toEqual(NOTHING);
  // The trial has done what it is for.
  for (const { expected, requests } of verdict.leadClients)
    expect(Math.min(expected, requests)).toBeGreaterThan(0);
  expect(verdict.leadClients.reduce((sum, { doubles }) => sum + doubles, 0)).toBeGreaterThan(0);
  expect(verdict.leads).toBeGreaterThan(250);
  expect(verdict.crashes).toBeGreaterThan(1);
  expect(verdict.faults.size).toBe(11);
});
