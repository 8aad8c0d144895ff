import { DedupeStrategy, type Polling, pollingHelper } from '@activepieces/pieces-common';
import {
  type AppConnectionValueForAuthProperty,
  createTrigger,
  Property,
  TriggerStrategy,
} from '@activepieces/pieces-framework';
import { leadtapAuth } from './auth.ts';
import { type Connection, FULL_PAGE, type Lead, readPage } from './read-page.ts';
import { sampleLead } from './sample-lead.ts';

type Auth = AppConnectionValueForAuthProperty<typeof leadtapAuth>;
type Props = { startAt?: string | undefined };

/** Far below 100 requests a minute, and short enough for the time that Activepieces gives a trigger. What is left waits for the next poll. */
const MAX_PAGES = 20;

/**
 * `TIMEBASED` remembers the latest `createdAt` of what it was given and drops what is not later. With Leadtap nothing is
 * lost by that: within a company no two leads share a millisecond, and they come oldest first.
 */
export const polling: Polling<Auth, Props> = {
  strategy: DedupeStrategy.TIMEBASED,
  items: async ({ auth, lastFetchEpochMS }) => {
    const leads = await leadsAfter(auth.props, new Date(lastFetchEpochMS).toISOString());
    return leads.map((lead) => ({ epochMilliSeconds: Date.parse(lead.createdAt), data: lead }));
  },
};

async function leadsAfter(connection: Connection, since: string): Promise<Lead[]> {
  const first = await readPage(connection, { since });
  const leads = [...first.leads];
  let page = first;
  for (let pages = 1; page.leads.length === FULL_PAGE && pages < MAX_PAGES; pages += 1) {
    try {
      page = await readPage(connection, { since: page.nextSince });
    } catch {
      // Delivers what was read; the next poll continues after it, and reports the error if it persists.
      break;
    }
    leads.push(...page.leads);
  }
  return leads;
}

export const newLead = createTrigger({
  auth: leadtapAuth,
  name: 'new_lead',
  displayName: 'New Lead',
  description: 'Triggers when a new lead arrives.',
  type: TriggerStrategy.POLLING,
  props: {
    startAt: Property.DateTime({
      displayName: 'Start from',
      description:
        'Leads created after this time come too, oldest first. Empty: only those that come from now on.',
      required: false,
    }),
  },
  sampleData: sampleLead,
  onEnable: async ({ auth, store, propsValue }) => {
    const start = await startOf(auth.props, propsValue);
    await pollingHelper.onEnable(polling, { auth, store, propsValue });
    // The helper has put the time of Activepieces' own clock, and a clock that is ahead would skip leads.
    await store.put('lastPoll', start);
  },
  onDisable: ({ auth, store, propsValue }) => pollingHelper.onDisable(polling, { auth, store, propsValue }),
  run: (context) => pollingHelper.poll(polling, context),
  // The newest leads, where the helper's own test would read the oldest.
  test: async ({ auth }) => [...(await readPage(auth.props, { limit: '5' })).leads],
});

async function startOf(connection: Connection, { startAt }: Props): Promise<number> {
  if (startAt) return Date.parse(startAt);
  const { nextSince } = await readPage(connection, { limit: '1' });
  return Date.parse(nextSince);
}
