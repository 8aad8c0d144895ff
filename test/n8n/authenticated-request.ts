import {
  type ICredentialDataDecryptedObject,
  type IHttpRequestOptions,
  type INode,
  type INodeTypes,
  type JsonObject,
  NodeApiError,
  Workflow,
} from 'n8n-workflow';
import { LeadtapApi } from '../../packages/n8n-nodes-leadtap/credentials/LeadtapApi.credentials.ts';

const { expression } = new Workflow({
  nodes: [],
  connections: {},
  active: false,
  nodeTypes: {} as INodeTypes,
});
const node: INode = { id: '', name: '', type: '', typeVersion: 1, position: [0, 0], parameters: {} };

/** Expressions of a credential, by n8n's own interpreter. */
export function resolve(value: unknown, $credentials: ICredentialDataDecryptedObject): string {
  const keys = { $credentials };
  return String(expression.getSimpleParameterValue(node, String(value), 'internal', keys, undefined, ''));
}

interface Answer {
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
  { baseURL = '', url, qs = {} }: IHttpRequestOptions,
): Promise<Answer> {
  const address = new URL(baseURL + url);
  for (const [name, value] of Object.entries(qs)) address.searchParams.set(name, String(value));
  const added = Object.entries(new LeadtapApi().authenticate.properties.headers ?? {});
  const headers = added.map(([name, value]) => [name, resolve(value, credential)] as const);
  const response = await fetch(address, { headers: Object.fromEntries(headers) });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return {
    statusCode: response.status,
    headers: Object.fromEntries<string>(response.headers),
    body: isJson ? JSON.parse(text) : text,
  };
}
