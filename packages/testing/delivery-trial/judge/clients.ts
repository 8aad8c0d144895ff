/** What each client has got in the end: nothing lost, and nothing twice for those that promise it. */
import type { Client, Memory, Page } from './history.ts';
import { isInScope, type Timelines } from './timeline.ts';

export interface ClientVerdict {
  readonly client: Client;
  readonly polls: number;
  readonly received: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
}

/** A client that remembers a `Date` gets some leads again, and one that remembers ids gets all of them again. */
const NEVER_TWICE: readonly Memory[] = ['createdAt', 'link'];

export function judgeClients(
  pages: readonly Page[],
  timelines: Timelines,
  end: number,
  clockSetBackAt = Number.POSITIVE_INFINITY,
): ClientVerdict[] {
  const byClient = new Map<string, [Page, ...Page[]]>();
  for (const page of pages) {
    const own = byClient.get(page.client.name);
    if (own) own.push(page);
    else byClient.set(page.client.name, [page]);
  }
  return [...byClient.values()].map((own) => {
    const { client } = own[0];
    const received = new Map<string, number>();
    for (const { leads } of own)
      for (const { triggerId } of leads) received.set(triggerId, (received.get(triggerId) ?? 0) + 1);
    const twice = [...received].filter(([, times]) => times > 1).map(([triggerId]) => triggerId);
    // A clock that is set back voids the promise of a Date; a client that asks for the newest leads has none.
    const promisedUntil = { ids: 0, date: clockSetBackAt, createdAt: Infinity, link: Infinity }[
      client.memory
    ];
    return {
      client,
      polls: own.length,
      received: received.size,
      lost: lostBy(client, own, timelines, { end, promisedUntil }),
      doubled: NEVER_TWICE.includes(client.memory) ? twice.map((id) => `${client.name} got ${id} twice`) : [],
    };
  });
}

/** Leads that are there at the end and were within the client's sight all their life, but never came. */
function lostBy(
  client: Client,
  pages: readonly Page[],
  timelines: Timelines,
  { end, promisedUntil }: { readonly end: number; readonly promisedUntil: number },
): string[] {
  const received = new Set(pages.flatMap(({ leads }) => leads.map(({ createdAt }) => createdAt)));
  const start = startOf(pages[0]);
  return timelines
    .incarnations(client.scope.companyId)
    .filter(({ createdAt, first, lead, writes }) => {
      if (first.begun >= promisedUntil || createdAt <= start || received.has(createdAt) || first.isHistorical)
        return false;
      if (!writes.every((write) => isInScope(client.scope, write))) return false;
      const possible = lead.possible(end, end);
      return possible.every((write) => write !== undefined && writes.includes(write));
    })
    .map(
      ({ lead, createdAt }) => `${client.name} never got ${lead.id} (${new Date(createdAt).toISOString()})`,
    );
}

/** A client that begins without `since` is promised what follows its first page. */
function startOf(page: Page | undefined): number {
  if (page?.since !== undefined) return page.since;
  return page?.leads[0]?.createdAt ?? -Infinity;
}
