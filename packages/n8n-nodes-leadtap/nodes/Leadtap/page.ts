import { type IPollFunctions, NodeOperationError } from 'n8n-workflow';
import type { ReceivedLead } from './lead.ts';
import { type Answer, apiErrorOf } from './problem.ts';

/** The service hands out no more at once. A page with as many may have another one behind it. */
export const PAGE_SIZE = 100;

/** The service answers within seconds or says that it cannot. */
const TIMEOUT_MS = 30_000;

export interface Page {
  readonly leads: readonly ReceivedLead[];
  /** The `since` of the next poll, in the words of the service: it knows one even for an empty page. */
  readonly nextSince: string | undefined;
}

export const NO_LEADS: Page = { leads: [], nextSince: undefined };

/** With `since` the leads that follow it, oldest first; without it the newest leads, newest first. */
export async function readPage(
  context: IPollFunctions,
  query: { readonly limit: number; readonly since?: string },
): Promise<Page> {
  const { baseUrl } = await context.getCredentials<{ baseUrl: string }>('leadtapApi');
  // When no answer comes, n8n throws. A refusal it would throw as well, but without what the service says.
  const answer: Answer = await context.helpers.httpRequestWithAuthentication.call(context, 'leadtapApi', {
    baseURL: baseUrl.replace(/\/+$/, ''),
    url: '/automation/new-leads',
    qs: { ...query },
    json: true,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    timeout: TIMEOUT_MS,
  });
  if (answer.statusCode !== 200) throw apiErrorOf(context.getNode(), answer);
  if (!isPage(answer.body))
    throw new NodeOperationError(context.getNode(), 'There is no Leadtap at the base URL', {
      description: `${baseUrl} answered, but not with leads. Check the base URL in the credential.`,
    });
  return { leads: answer.body, nextSince: sinceOf(answer.headers['link']) };
}

const isPage = (body: unknown): body is ReceivedLead[] =>
  Array.isArray(body) && body.every((lead) => typeof lead?.createdAt === 'string');

/** The `since` in `Link: <…?since=…&limit=…>; rel="next"`. */
function sinceOf(link: unknown): string | undefined {
  const [, address] = /^<([^>]+)>;\s*rel="next"/.exec(String(link)) ?? [];
  return (address && new URL(address).searchParams.get('since')) || undefined;
}
