import type { Lead } from '@leadtap/contract';
import type { MakePoller } from '../../../packages/testing/pollers/poller.ts';
import { VirtualSleep } from '../../../packages/testing/pollers/virtual-sleep.ts';
import { INSTANT_FLOW, NodeRed } from './node-red.ts';

/** Our flow. Node-RED works on its context in memory and writes it to files half a minute later. */
export const nodeRedFlow: MakePoller = ({ connection, handOn, store }) => {
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
      files = written;
    });
  };
  return {
    turnOn: inject,
    poll: inject,
    restart: () => {
      nodeRed = new NodeRed(env, { context: new Map(files) });
    },
  };
};

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
