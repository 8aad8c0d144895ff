import { inject, onTestFinished } from 'vitest';
import { changedSender, type HookMutation } from '../delivery-trial/hooks/changed-sender.ts';
import {
  COMPANIES,
  type HookTrialVerdict,
  hostsOf,
  ORGANISATION,
  runHookTrial,
  startHookClients,
} from '../delivery-trial/hooks/hook-trial.ts';
import { LeadClients } from '../delivery-trial/hooks/lead-clients.ts';
import { cutConnections } from '../delivery-trial/postgres/other-actors.ts';
import { installService } from './installed-service.ts';

interface Size {
  readonly instances: number;
  readonly leads: number;
  readonly seconds: number;
  /** Absent: nothing crashes. */
  readonly msPerCrash?: number;
  readonly mutation?: HookMutation;
}

/** Clients that poll on each event, or get the leads. Their receivers fail, and instances may be killed. */
export async function runTrial({
  mutation,
  instances,
  msPerCrash,
  ...size
}: Size): Promise<HookTrialVerdict> {
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

export const lossesOf = ({ clients }: HookTrialVerdict) =>
  clients.filter(({ lost }) => lost.length > 0).map(({ userId, lost }) => `${userId}: ${lost.length}`);

/** Of the clients that get leads, by kind. */
export const findingsOf = ({ leadClients }: HookTrialVerdict) => ({
  lost: leadClients.flatMap(({ lost }) => lost),
  outOfOrder: leadClients.flatMap(({ outOfOrder }) => outOfOrder),
  otherIds: leadClients.flatMap(({ otherIds }) => otherIds),
  hidden: leadClients.flatMap(({ hidden }) => hidden),
});
