import { pollOnce } from './poll-once.ts';

/** Where the newest 100 leads lie that a user can see. */
export interface NewestLeads {
  /** The query that finds nothing newer: where the `Link` of the newest page leads. */
  readonly empty: string;
  /** When the oldest of them was created. */
  readonly oldestAt: number;
}

export async function exploreNewest(port: number, token: string): Promise<NewestLeads> {
  const { body, nextQuery } = await pollOnce(port, token, '?limit=100');
  const leads: { createdAt: string }[] = JSON.parse(Buffer.from(body).toString());
  return { empty: nextQuery, oldestAt: Date.parse(leads.at(-1)?.createdAt ?? '') };
}

/** As the service writes it in its `Link`. */
export const sinceQuery = (ms: number): string =>
  `?${new URLSearchParams({ since: new Date(ms).toISOString(), limit: '100' })}`;

/** The query whose page has just these leads. */
export const sinceBefore = ({ oldestAt }: NewestLeads): string => sinceQuery(oldestAt - 1);
