import { expect, inject, it, onTestFinished } from 'vitest';
import { changedSender, type HookMutation } from '../../../testing/delivery-trial/hooks/changed-sender.ts';
import {
  type HookTrialVerdict,
  hostsOf,
  ORGANISATION,
  runHookTrial,
  startHookClients,
} from '../../../testing/delivery-trial/hooks/hook-trial.ts';
import { cutConnections } from '../../../testing/delivery-trial/postgres/other-actors.ts';
import { installService } from '../../../testing/harness/installed-service.ts';

interface Size {
  readonly instances: number;
  readonly leads: number;
  readonly seconds: number;
  /** Absent: nothing crashes. */
  readonly msPerCrash?: number;
  readonly mutation?: HookMutation;
}

async function run({ mutation, instances, msPerCrash, ...size }: Size): Promise<HookTrialVerdict> {
  const clients = await startHookClients(5);
  onTestFinished(async () => {
    await Promise.all(clients.map(({ receiver }) => receiver.close()));
  });
  const env = { LEADTAP_HOOK_HOSTS: hostsOf(clients), ...changedSender(mutation) };
  const installation = await installService({ organisation: ORGANISATION, env, instances });
  const { database, kill } = installation;
  const store = await database.openStore();
  onTestFinished(() => store.close());
  const cut = () => cutConnections(database.url);
  const crashes = [
    ...installation.urls.map((_, index) => () => kill(index)),
    ...(inject('store') === 'postgres' ? [cut] : []),
  ];
  return runHookTrial({
    ...{ clients, installation, store, seed: 5, ...size },
    ...(msPerCrash === undefined ? { crashes: [], msPerCrash: 0 } : { crashes, msPerCrash }),
  });
}

const lossesOf = ({ clients }: HookTrialVerdict) =>
  clients.filter(({ lost }) => lost.length > 0).map(({ userId, lost }) => `${userId}: ${lost.length}`);

it('a client that polls on each event loses nothing while receivers fail and instances are killed', async () => {
  const verdict = await run({ instances: 2, leads: 300, seconds: 5, msPerCrash: 1500 });
  expect(lossesOf(verdict)).toEqual([]);
  expect(verdict.clients.map(({ followedRedirects }) => followedRedirects)).toEqual(
    verdict.clients.map(() => 0),
  );
  // The trial has done what it is for.
  expect(verdict.leads).toBe(302);
  expect(verdict.crashes).toBeGreaterThan(1);
  expect(verdict.faults.size).toBe(9);
});

// What it detects does not depend on the store.
if (inject('store') === 'sqlite')
  it('the trial detects a defect: an event that failed counts as announced', async () => {
    const verdict = await run({
      ...{ instances: 1, leads: 60, seconds: 1 },
      mutation: 'announced-by-failure',
    });
    expect(lossesOf(verdict)).not.toEqual([]);
  });
