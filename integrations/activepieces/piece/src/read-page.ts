import { type Connection, request } from './request.ts';

/** What the piece itself needs of a lead; the rest is passed on as it came. */
export interface Lead {
  readonly createdAt: string;
  readonly automation_trigger_id: string;
}

export interface Page {
  readonly leads: readonly Lead[];
  /** What to send as `since` next, by the service's own clock. */
  readonly nextSince: string;
}

/** A page never holds more; one that holds as many may not be the last. */
export const FULL_PAGE = 100;

/** Far below 100 requests a minute, and short enough for the time that Activepieces gives a trigger. */
const MAX_PAGES = 20;

/** Whatever is not a page is thrown as an error whose message says what to do. */
export async function readPage(
  connection: Connection,
  query: { readonly since?: string; readonly limit?: string },
): Promise<Page> {
  const { host, status, headers, body } = await request(connection, 'new-leads', { query });
  const nextSince = nextSinceOf(headers.get('link') ?? '');
  if (!isListOfLeads(body) || nextSince === undefined)
    throw new Error(
      `${host} answered ${status}, but not with a list of leads of Leadtap. Check the base address: another page or program answers there.`,
    );
  return { leads: body, nextSince };
}

/** Up to 2,000 leads after `since`. `hasMore`: there may be others, and they could be read now. */
export async function readPages(
  connection: Connection,
  since: string,
): Promise<Page & { readonly hasMore: boolean }> {
  let page = await readPage(connection, { since });
  const leads = [...page.leads];
  for (let pages = 1; page.leads.length === FULL_PAGE && pages < MAX_PAGES; pages += 1) {
    try {
      page = await readPage(connection, { since: page.nextSince });
    } catch {
      // Delivers what was read; the next poll continues after it, and reports the error if it persists.
      return { leads, nextSince: page.nextSince, hasMore: false };
    }
    leads.push(...page.leads);
  }
  return { leads, nextSince: page.nextSince, hasMore: page.leads.length === FULL_PAGE };
}

/** The `since` of the next poll. Undefined where there is none, or none that can be decoded. */
function nextSinceOf(link: string): string | undefined {
  const [, target = ''] = /<([^<>]*)>\s*;\s*rel="next"/.exec(link) ?? [];
  const [, since] = /[?&]since=([^&]+)/.exec(target) ?? [];
  try {
    return since && decodeURIComponent(since);
  } catch {
    return undefined;
  }
}

const isListOfLeads = (body: unknown): body is Lead[] =>
  Array.isArray(body) &&
  body.every((lead) => typeof lead?.createdAt === 'string' && typeof lead.automation_trigger_id === 'string');
