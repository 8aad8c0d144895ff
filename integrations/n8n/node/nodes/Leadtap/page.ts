import type { Lead } from '@leadtap/contract';
import {
  type IDataObject,
  type IPollFunctions,
  type ITriggerFunctions,
  type JsonObject,
  NodeApiError,
  NodeOperationError,
} from 'n8n-workflow';
import { type Answer, apiErrorOf } from './problem.ts';

/** The service hands out no more at once. A page with as many may have another one behind it. */
export const PAGE_SIZE = 100;

/** The service answers within seconds or says that it cannot. */
export const TIMEOUT_MS = 30_000;

/** What n8n calls either trigger with. */
export type Context = IPollFunctions | ITriggerFunctions;

/** A lead as the service sent it, with fields that later versions may add. */
export type ReceivedLead = IDataObject & Pick<Lead, 'createdAt'>;

export interface Page {
  readonly leads: readonly ReceivedLead[];
  /** The `since` of the next poll, in the words of the service: it knows one even for an empty page. */
  readonly nextSince: string;
  readonly headers: Answer['headers'];
}

/** Lets the service hold the request until there is a lead. */
export interface Hold {
  readonly waitS: number;
  readonly signal: AbortSignal;
}

/** With `since` the leads that follow it, oldest first; without it the newest leads, newest first. */
export async function readPage(
  context: Context,
  query: { readonly limit: number; readonly since?: string },
  hold?: Hold,
): Promise<Page> {
  const { baseUrl, accessToken } = await context.getCredentials<{ baseUrl: string; accessToken: string }>(
    'leadtapApi',
  );
  // Not `httpRequestWithAuthentication`: it evaluates the expression in the credential's header, and n8n evaluates none for a trigger
  // that runs on after the activation.
  const answer: Answer = await context.helpers
    .httpRequest({
      baseURL: baseUrl.replace(/(?<!\/)\/+$/, ''),
      url: '/automation/new-leads',
      qs: { ...query },
      headers: {
        Authorization: `Bearer ${accessToken}`,
        ...(hold && { Prefer: `wait=${hold.waitS}` }),
      },
      json: true,
      returnFullResponse: true,
      // A refusal would be thrown without what the service says.
      ignoreHttpStatusErrors: true,
      timeout: TIMEOUT_MS + (hold?.waitS ?? 0) * 1000,
      ...(hold && { abortSignal: hold.signal }),
    })
    .catch((error: JsonObject) => {
      throw new NodeApiError(context.getNode(), error);
    });
  if (answer.statusCode !== 200) throw apiErrorOf(context.getNode(), answer);
  const page = pageOf(answer);
  if (!page)
    throw new NodeOperationError(context.getNode(), notLeadtap(baseUrl), {
      description: 'No lead was taken, and the next poll asks again. Check the base URL in the credential.',
    });
  return page;
}

/**
 * Undefined when a 200 is not Leadtap's. Maintenance pages, captive portals and wrong addresses answer 200 too, so the
 * body must be a list of leads, and `Link` must name the next poll: `<…?since=…&limit=…>; rel="next"`.
 */
export function pageOf({ body, headers }: Answer): Page | undefined {
  const nextSince = nextSinceOf(String(headers['link']));
  return nextSince && isLeads(body) ? { leads: body, nextSince, headers } : undefined;
}

/** Undefined where there is no `since`, or none that can be decoded. */
function nextSinceOf(link: string): string | undefined {
  const [, target = ''] = /<([^<>]*)>\s*;\s*rel="next"/.exec(link) ?? [];
  const [, since] = /[?&]since=([^&]+)/.exec(target) ?? [];
  try {
    return since && decodeURIComponent(since);
  } catch {
    return undefined;
  }
}

const isLeads = (body: unknown): body is ReceivedLead[] =>
  Array.isArray(body) &&
  body.every((lead) => typeof lead?.createdAt === 'string' && typeof lead.automation_trigger_id === 'string');

export const notLeadtap = (baseUrl: string): string =>
  `${baseUrl} answered 200, but not with a list of leads of Leadtap: check the base URL`;
