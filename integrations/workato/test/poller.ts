import { HOOKS_PATH, type Lead, MAX_LEADS_PER_PAGE, NEW_LEADS_PATH } from '@leadtap/contract';
import { respondWith } from '../../../packages/testing/integrations/hook-receiver.ts';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';
import { type MakePoller, UNTIL_REMINDED } from '../../../packages/testing/pollers/poller.ts';

async function readPage({ baseUrl, token }: Connection, since?: string): Promise<readonly Lead[]> {
  const query = new URLSearchParams(since === undefined ? {} : { since });
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${baseUrl}${NEW_LEADS_PATH}?${query}`, { headers });
  if (!response.ok) throw new Error(`answered with ${response.status}`);
  return response.json() as Promise<readonly Lead[]>;
}

/**
 * A polling trigger of a custom connector: each call gets the closure that the last one returned, and is repeated at once
 * while `can_poll_more`. Workato makes a job of each event whose dedup key it has not seen; it keeps the closure and the
 * keys. The calls do what those of integrations/workato/connector.rb do.
 */
export const workatoConnector: MakePoller = ({ connection, handOn, store }) => {
  const jobs = new Set<string>();
  let cursor = '';
  const keep = (lead: Lead | undefined) => {
    const next = lead?.createdAt ?? cursor;
    store(() => {
      cursor = next;
    });
  };
  const makeJob = (lead: Lead) => {
    if (jobs.has(lead.automation_trigger_id)) return;
    handOn(lead);
    jobs.add(lead.automation_trigger_id);
  };
  return {
    turnOn: async () => {
      const leads = await readPage(connection);
      for (const { automation_trigger_id } of leads) jobs.add(automation_trigger_id);
      keep(leads[0]);
    },
    poll: async () => {
      for (let canPollMore = true; canPollMore; ) {
        const leads = await readPage(connection, cursor);
        leads.forEach(makeJob);
        keep(leads.at(-1));
        canPollMore = leads.length === MAX_LEADS_PER_PAGE;
      }
    },
    restart: () => undefined,
  };
};

/** The hybrid trigger: a poll follows events. Those of the 12 hours are left out. */
export const workatoInstant: MakePoller = (environment) => {
  const { connection, receiver, untilSent } = environment;
  const trigger = workatoConnector(environment);
  let hasEvents = false;
  receiver.respond = (response) => {
    hasEvents = true;
    respondWith(200)(response);
  };
  return {
    ...trigger,
    idlePolls: UNTIL_REMINDED,
    turnOn: async () => {
      const subscribed = await fetch(connection.baseUrl + HOOKS_PATH, {
        method: 'POST',
        headers: { authorization: `Bearer ${connection.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url: receiver.url }),
      });
      if (!subscribed.ok) throw new Error(`no subscription: ${subscribed.status}`);
      await trigger.turnOn();
    },
    poll: async () => {
      await untilSent();
      if (!hasEvents) return;
      hasEvents = false;
      await trigger.poll();
    },
  };
};
