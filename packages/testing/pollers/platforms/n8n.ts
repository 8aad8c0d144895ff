import { makeInstantWorkflow } from '../../../../integrations/n8n/test/instant-workflow.ts';
import { makeWorkflow } from '../../../../integrations/n8n/test/workflow.ts';
import { readPage } from '../page.ts';
import type { MakePoller } from '../poller.ts';
import { VirtualSleep } from '../virtual-sleep.ts';

const INTERVAL_MS = 2 * 60_000;
const isoTime = (ms: number): string => new Date(ms).toISOString();

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

/**
 * A workflow of a schedule, an HTTP Request node and a node that remembers in the workflow's static data when it asked, by
 * n8n's own clock, once the request has succeeded. n8n keeps static data when the workflow has ended.
 */
export const n8nOwnClock: MakePoller = ({ connection, now, handOn, store }) => {
  let askedAt = '';
  return {
    turnOn: async () => {
      askedAt = isoTime(now());
    },
    poll: async () => {
      const asksAt = isoTime(now());
      const { leads } = await readPage(connection, { since: askedAt });
      leads.forEach(handOn);
      store(() => {
        askedAt = asksAt;
      });
    },
    restart: () => undefined,
  };
};

/** The same without a memory: `since` is `{{ $now.minus({ minutes: 2 }) }}`. */
export const n8nLastTwoMinutes: MakePoller = ({ connection, now, handOn }) => ({
  turnOn: async () => undefined,
  poll: async () => {
    const { leads } = await readPage(connection, { since: isoTime(now() - INTERVAL_MS) });
    leads.forEach(handOn);
  },
  restart: () => undefined,
});
