import {
  type ICredentialDataDecryptedObject,
  type ICredentialTestFunctions,
  type IHttpRequestOptions,
  type INode,
  type INodeTypes,
  type JsonObject,
  NodeApiError,
  Workflow,
} from 'n8n-workflow';
import { LeadtapApi } from '../node/credentials/LeadtapApi.credentials.ts';

const { expression } = new Workflow({
  nodes: [],
  connections: {},
  active: false,
  nodeTypes: {} as INodeTypes,
});
const node: INode = { id: '', name: '', type: '', typeVersion: 1, position: [0, 0], parameters: {} };

/** Expressions of a credential, by n8n's own interpreter. */
function resolve(value: unknown, $credentials: ICredentialDataDecryptedObject): string {
  const keys = { $credentials };
  return String(expression.getSimpleParameterValue(node, String(value), 'internal', keys, undefined, ''));
}

export interface Answer {
  readonly body: unknown;
  readonly headers: Record<string, string>;
  readonly statusCode: number;
}

/** The request with what the credential adds to it, by real HTTP; what it gives and throws has the shape of n8n's own. */
export async function authenticatedRequest(
  credential: ICredentialDataDecryptedObject,
  request: IHttpRequestOptions,
): Promise<Answer> {
  const answer = await send(credential, request).catch((error: JsonObject) => {
    throw new NodeApiError(node, error);
  });
  if (answer.statusCode < 300 || request.ignoreHttpStatusErrors) return answer;
  throw new NodeApiError(node, { message: `Request failed with status code ${answer.statusCode}` });
}

async function send(
  credential: ICredentialDataDecryptedObject,
  { baseURL = '', url, qs = {}, headers: own = {}, abortSignal }: IHttpRequestOptions,
): Promise<Answer> {
  const address = new URL(baseURL + url);
  for (const [name, value] of Object.entries(qs)) address.searchParams.set(name, String(value));
  const added = Object.entries(new LeadtapApi().authenticate.properties.headers ?? {});
  const headers = added.map(([name, value]) => [name, resolve(value, credential)] as const);
  const response = await fetch(address, {
    headers: { ...(own as Record<string, string>), ...Object.fromEntries(headers) },
    signal: (abortSignal as AbortSignal | undefined) ?? null,
  });
  const text = await response.text();
  return answerOf(response, text);
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
