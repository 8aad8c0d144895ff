import type { MakePoller } from '../../../packages/testing/pollers/poller.ts';
import { VirtualSleep } from '../../../packages/testing/pollers/virtual-sleep.ts';
import { makeInstantWorkflow } from './instant-workflow.ts';
import { makeWorkflow } from './workflow.ts';

/**
 * Our node. n8n begins to save what a trigger remembers, then starts the workflow, and waits for neither; what is tried here
 * is that it had saved when it was killed.
 */
export const n8nNode: MakePoller = ({ connection: { baseUrl, token }, handOn, store }) => {
  const workflow = makeWorkflow({ credential: { baseUrl, accessToken: token } });
  return {
    turnOn: async () => void (await workflow.activate()),
    poll: async () => {
      const leads = await workflow.poll();
      store(() => undefined);
      for (const { id } of leads) handOn({ id: String(id) });
    },
    restart: () => workflow.restart(),
  };
};

/** Our instant trigger. n8n saves what it remembers as for a poll, and is killed at the same moment. */
export const n8nInstant: MakePoller = ({ connection, now, handOn, store, untilHeld }) => {
  let sleeper = new VirtualSleep(now);
  let isActive = false;
  const workflow = makeInstantWorkflow({
    credential: { baseUrl: connection.baseUrl, accessToken: connection.token },
    timing: { now, sleep: (ms) => sleeper.sleep(ms), random: () => 0.5 },
    onLeads: (leads) => {
      for (const { id } of leads) handOn({ id: String(id) });
    },
    store,
  });
  const untilIdle = () => Promise.race([sleeper.untilAsleep(), untilHeld()]);
  return {
    turnOn: async () => {
      await workflow.activate();
      isActive = true;
      await untilIdle();
    },
    poll: async () => {
      if (!isActive) await workflow.activate('init');
      isActive = true;
      await untilIdle();
    },
    restart: () => {
      workflow.kill();
      sleeper = new VirtualSleep(now);
      isActive = false;
    },
  };
};
