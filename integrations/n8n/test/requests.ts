import type { ICredentialTestFunctions, IHttpRequestOptions } from 'n8n-workflow';

export interface Answer {
  readonly body: unknown;
  readonly headers: Record<string, string>;
  readonly statusCode: number;
}

/** A request by real HTTP, as n8n's `httpRequest` sends it; what it gives and throws has the shape of n8n's own. */
export async function httpRequest({
  baseURL = '',
  url,
  qs = {},
  headers = {},
  abortSignal,
  ignoreHttpStatusErrors,
}: IHttpRequestOptions): Promise<Answer> {
  const address = new URL(baseURL + url);
  for (const [name, value] of Object.entries(qs)) address.searchParams.set(name, String(value));
  const response = await fetch(address, {
    headers: headers as Record<string, string>,
    signal: (abortSignal as AbortSignal | undefined) ?? null,
  });
  const answer = answerOf(response, await response.text());
  if (answer.statusCode < 300 || ignoreHttpStatusErrors) return answer;
  throw new Error(`Request failed with status code ${answer.statusCode}`);
}

/** n8n sends requests with axios, which tries to parse every body and leaves what is not JSON as it is. */
function answerOf({ status, headers }: Response, text: string): Answer {
  const answer = { statusCode: status, headers: Object.fromEntries<string>(headers) };
  try {
    return { ...answer, body: JSON.parse(text) };
  } catch {
    return { ...answer, body: text };
  }
}

interface LegacyRequest {
  readonly uri: string;
  readonly qs: Record<string, string>;
  readonly headers: Record<string, string>;
}

/** What n8n gives to a credential test: a request with the options of an older library. */
const helpers: Partial<ICredentialTestFunctions['helpers']> = {
  async request(options): Promise<Answer> {
    const { uri, qs, headers } = options as LegacyRequest;
    const response = await fetch(`${uri}?${new URLSearchParams(qs)}`, { headers });
    return answerOf(response, await response.text());
  },
};

export const credentialTestFunctions = { helpers } as ICredentialTestFunctions;
