import { expect, inject, it, onTestFinished } from 'vitest';
import { changedSender, type HookMutation } from '../../../testing/delivery-trial/hooks/changed-sender.ts';
import {
  COMPANIES,
  type HookTrialVerdict,
  hostsOf,
  ORGANISATION,
  runHookTrial,
  startHookClients,
} from '../../../testing/delivery-trial/hooks/hook-trial.ts';
import { LeadClients } from '../../../testing/delivery-trial/hooks/lead-clients.ts';
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
  const leadClients = await LeadClients.start(5, COMPANIES);
  onTestFinished(async () => {
    const receivers = [...clients.map(({ receiver }) => receiver), ...leadClients.receivers];
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });
  const env = { LEADTAP_HOOK_HOSTS: hostsOf(clients, leadClients), ...changedSender(mutation) };
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
    ...{ clients, leadClients, installation, store, seed: 5, ...size },
    ...(msPerCrash === undefined ? { crashes: [], msPerCrash: 0 } : { crashes, msPerCrash }),
  });
}

const lossesOf = ({ clients }: HookTrialVerdict) =>
  clients.filter(({ lost }) => lost.length > 0).map(({ userId, lost }) => `${userId}: ${lost.length}`);

/** Of the clients that get leads, by kind. */
const findingsOf = ({ leadClients }: HookTrialVerdict) => ({
  lost: leadClients.flatMap(({ lost }) => lost),
  outOfOrder: leadClients.flatMap(({ outOfOrder }) => outOfOrder),
  otherIds: leadClients.flatMap(({ otherIds }) => otherIds),
  hidden: leadClients.flatMap(({ hidden }) => hidden),
});
const NOTHING = { lost: [], outOfOrder: [], otherIds: [], hidden: [] };

it('a client that polls on each event, or gets the leads, loses nothing while receivers fail and instances are killed', async () => {
  const verdict = await run({ instances: 2, leads: 300, seconds: 5, msPerCrash: 1500 });
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

// What it detects does not depend on the store.
if (inject('store') === 'sqlite')
  it('the trial detects a defect: an event that failed counts as announced', async () => {
    const verdict = await run({
      ...{ instances: 1, leads: 60, seconds: 1 },
      mutation: 'announced-by-failure',
    });
    expect(lossesOf(verdict)).not.toEqual([]);
  });

if (inject('store') === 'sqlite')
  it.each([
    ['moves the position with a failure', 'moved-by-failure', 'lost'],
    ['repeats a request with other leads', 'other-repetition', 'otherIds'],
    ['ignores the access level', 'ignored-access', 'hidden'],
  ] as const)('the trial detects a sender that %s', async (_name, mutation, finding) => {
    const verdict = await run({ instances: 1, leads: 120, seconds: 3, mutation });
    expect(findingsOf(verdict)[finding]).not.toEqual([]);
  });
