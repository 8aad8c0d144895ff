import type { Lead } from '@leadtap/contract';
import { NodeRed } from '../../../../integrations/node-red/test/node-red.ts';
import type { Environment, MakePoller, Poller } from '../poller.ts';

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
