/** Where a flow begins: the same for both triggers. */
import { Property } from '@activepieces/pieces-framework';
import { type Lead, readPage } from './read-page.ts';
import type { Connection } from './request.ts';

export const startAt = Property.DateTime({
  displayName: 'Start from',
  description:
    'Leads created after this time come too, oldest first. Empty: only those that come from now on.',
  required: false,
});

/** The `since` of the first poll, by the service's own clock unless the user has chosen a time. */
export async function startOf(
  connection: Connection,
  { startAt: chosen }: { startAt?: string | undefined },
): Promise<string> {
  if (chosen) return new Date(chosen).toISOString();
  return (await readPage(connection, { limit: '1' })).nextSince;
}

/** What the editor shows. The test of Activepieces' own helper would read the oldest. */
export const newestLeads = async (connection: Connection): Promise<Lead[]> => [
  ...(await readPage(connection, { limit: '5' })).leads,
];
