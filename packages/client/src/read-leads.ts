import type { Lead } from './contract.ts';
import { errorOf } from './errors.ts';

interface Leads {
  readonly leads: readonly Lead[];
  /** The `since` in the `Link` of the answer: where the next poll continues. */
  readonly nextSince: string;
}

/**
 * Reads a 200, if it is an answer of Leadtap. Maintenance pages, captive portals and other services behind a wrong
 * address answer 200 too, so the body must be a list of leads and `Link` must name the next poll.
 */
export async function readLeads(response: Response, endpoint: string): Promise<Leads> {
  const text = await response.text();
  const nextSince = nextSinceOf(response.headers);
  if (nextSince !== undefined) {
    // With this link the answer is Leadtap's: a body that does not parse was cut off, which is a fault of the connection.
    const leads: unknown = JSON.parse(text);
    if (isLeads(leads)) return { leads, nextSince };
  }
  throw errorOf({
    code: 'not-leads',
    message: `${addressOf(response, endpoint)} answered ${response.status}, but not with a list of leads of Leadtap: check the base address.`,
    status: response.status,
  });
}

/**
 * The address in `Link` is not followed: behind a proxy its host may be wrong, and the token goes to the base address only.
 * Undefined where there is no `since`, or none that can be decoded.
 */
export function nextSinceOf(headers: Headers): string | undefined {
  const [, target = ''] = /<([^<>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
  const [, since] = /[?&]since=([^&]+)/.exec(target) ?? [];
  try {
    return since && decodeURIComponent(since);
  } catch {
    return undefined;
  }
}

/** What the position depends on must be there. Other fields may be added one day. */
const isLeads = (body: unknown): body is Lead[] =>
  Array.isArray(body) &&
  body.every(
    (lead: Partial<Lead> | null) =>
      typeof lead?.createdAt === 'string' && typeof lead.automation_trigger_id === 'string',
  );

/** After a redirect, the address that answered. A `fetch` of the caller's own may not name one. */
const addressOf = ({ url }: Response, endpoint: string): string => (url || endpoint).replace(/\?.*/, '');
