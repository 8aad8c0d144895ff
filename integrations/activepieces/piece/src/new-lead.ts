import { DedupeStrategy, type Polling, pollingHelper } from '@activepieces/pieces-common';
import {
  type AppConnectionValueForAuthProperty,
  createTrigger,
  TriggerStrategy,
} from '@activepieces/pieces-framework';
import { leadtapAuth } from './auth.ts';
import { readPages } from './read-page.ts';
import { sampleLead } from './sample-lead.ts';
import { newestLeads, startAt, startOf } from './start.ts';

type Auth = AppConnectionValueForAuthProperty<typeof leadtapAuth>;
type Props = { startAt?: string | undefined };

/**
 * `TIMEBASED` remembers the latest `createdAt` of what it was given and drops what is not later. With Leadtap nothing is
 * lost by that: within a company no two leads share a millisecond, and they come oldest first.
 */
export const polling: Polling<Auth, Props> = {
  strategy: DedupeStrategy.TIMEBASED,
  items: async ({ auth, lastFetchEpochMS }) => {
    const { leads } = await readPages(auth.props, new Date(lastFetchEpochMS).toISOString());
    return leads.map((lead) => ({ epochMilliSeconds: Date.parse(lead.createdAt), data: lead }));
  },
};

export const newLead = createTrigger({
  auth: leadtapAuth,
  name: 'new_lead',
  displayName: 'New Lead',
  description: 'Triggers when a new lead arrives. Polls on the schedule of Activepieces.',
  type: TriggerStrategy.POLLING,
  props: { startAt },
  sampleData: sampleLead,
  onEnable: async ({ auth, store, propsValue }) => {
    const start = await startOf(auth.props, propsValue);
    await pollingHelper.onEnable(polling, { auth, store, propsValue });
    // The helper has put the time of Activepieces' own clock, and a clock that is ahead would skip leads.
    await store.put('lastPoll', Date.parse(start));
  },
  onDisable: ({ auth, store, propsValue }) => pollingHelper.onDisable(polling, { auth, store, propsValue }),
  run: (context) => pollingHelper.poll(polling, context),
  test: ({ auth }) => newestLeads(auth.props),
});
