import { createRequire } from 'node:module';
import type { Lead } from '@leadtap/contract';
import { ZapierPoller } from '../../../../integrations/zapier/test/zapier-poller.ts';
import { readPage } from '../page.ts';
import type { MakePoller } from '../poller.ts';

/** After 250 runs in a process that has grown large, Zapier's core ends it; this one is that of many tests. */
const limits: { KILL_MAX_LIMIT: number } = createRequire(import.meta.url)(
  'zapier-platform-core/src/constants',
);
limits.KILL_MAX_LIMIT = Number.POSITIVE_INFINITY;

/**
 * A Zap over the bare endpoint: Zapier asks for one page, starts the Zap for every `id` that is not in its table, and fills
 * the table without starting anything when the Zap is turned on. The table is Zapier's own and outlives every process.
 */
export const zapierNewestPage: MakePoller = ({ connection, handOn, store }) => {
  const seen = new Set<string>();
  const unseen = async (): Promise<Lead[]> => {
    const { leads } = await readPage(connection);
    const newLeads = leads.filter(({ id }) => !seen.has(id));
    store(() => newLeads.forEach(({ id }) => void seen.add(id)));
    return newLeads;
  };
  return {
    turnOn: async () => void (await unseen()),
    poll: async () => (await unseen()).forEach(handOn),
    restart: () => undefined,
  };
};

/** A Zap with our app. */
export const zapierApp: MakePoller = ({ connection, handOn, store }) => {
  const zapier = new ZapierPoller();
  return {
    turnOn: () => zapier.turnOn(connection),
    poll: async () => {
      await zapier.poll(connection);
      store(() => undefined);
      zapier.runs.splice(0).forEach(handOn);
    },
    restart: () => undefined,
  };
};
