import type { Lead } from '@leadtap/contract';
import { INSTANT_FLOW, NodeRed } from '../../../../integrations/node-red/test/node-red.ts';
import type { Environment, MakePoller, Poller } from '../poller.ts';
import { VirtualSleep } from '../virtual-sleep.ts';

/** Our flow. Node-RED works on its context in memory and writes it to files, if configured, half a minute later. */
function runFlow({ connection, handOn, store }: Environment, keepsContextInFiles: boolean): Poller {
  const env = { LEADTAP_URL: connection.baseUrl, LEADTAP_TOKEN: connection.token };
  let files: [string, unknown][] = [];
  let nodeRed = new NodeRed(env);
  const inject = async () => {
    await nodeRed.inject();
    const leads = nodeRed.shown.get('leadtap-lead') ?? [];
    nodeRed.shown.delete('leadtap-lead');
    for (const { payload } of leads) handOn(payload as Lead);
    const written = [...nodeRed.context];
    store(() => {
      if (keepsContextInFiles) files = written;
    });
  };
  return {
    turnOn: inject,
    poll: inject,
    restart: () => {
      nodeRed = new NodeRed(env, { context: new Map(files) });
    },
  };
}

export const nodeRedFlow: MakePoller = (environment) => runFlow(environment, true);

/** As it is installed. */
export const nodeRedContextInMemory: MakePoller = (environment) => runFlow(environment, false);

/** Our instant flow, with its context in files. */
export const nodeRedInstant: MakePoller = ({ connection, now, handOn, store, untilHeld }) => {
  const env = { LEADTAP_URL: connection.baseUrl, LEADTAP_TOKEN: connection.token };
  let files: [string, unknown][] = [];
  let running: { readonly nodeRed: NodeRed; readonly sleeper: VirtualSleep } | undefined;
  const start = () => {
    const sleeper = new VirtualSleep(now);
    const nodeRed = new NodeRed(env, {
      flow: INSTANT_FLOW,
      context: new Map(files),
      now,
      pause: sleeper.sleep,
    });
    void nodeRed.inject();
    return { nodeRed, sleeper };
  };
  const poll = async () => {
    running ??= start();
    const { nodeRed, sleeper } = running;
    await Promise.race([sleeper.untilAsleep(), untilHeld()]);
    const leads = nodeRed.shown.get('leadtap-instant-lead') ?? [];
    nodeRed.shown.delete('leadtap-instant-lead');
    for (const { payload } of leads) handOn(payload as Lead);
    const written = [...nodeRed.context];
    store(() => {
      files = written;
    });
  };
  return {
    turnOn: poll,
    poll,
    restart: () => {
      running?.nodeRed.stop();
      running = undefined;
    },
  };
};
