import {
  type ICredentialDataDecryptedObject,
  type IHttpRequestOptions,
  type INode,
  type INodeTypes,
  Workflow,
} from 'n8n-workflow';
import { LeadtapApi } from '../../packages/n8n-nodes-leadtap/credentials/LeadtapApi.credentials.ts';

/** What n8n throws for an answer that is not a success: it goes by the name of the class. */
class AxiosError extends Error {
  readonly response: { readonly status: number; readonly headers: object; readonly data: unknown };
  /** The request, with the access token in it. */
  readonly config: { readonly headers: object };

  constructor(response: AxiosError['response'], headers: object) {
    super(`Request failed with status code ${response.status}`);
    this.response = response;
    this.config = { headers };
  }
}

const { expression } = new Workflow({
  nodes: [],
  connections: {},
  active: false,
  nodeTypes: {} as INodeTypes,
});
const node: INode = { id: '', name: '', type: '', typeVersion: 1, position: [0, 0], parameters: {} };

/** Expressions of a credential, by n8n's own interpreter. */
export const resolve = (value: unknown, credential: ICredentialDataDecryptedObject): string =>
  String(
    expression.getSimpleParameterValue(
      node,
      String(value),
      'internal',
      { $credentials: credential },
      undefined,
      '',
    ),
  );

/** The request with what the credential adds to it, by real HTTP. Answers and failures have the shape of n8n's own. */
export async function authenticatedRequest(
  credential: ICredentialDataDecryptedObject,
  { baseURL = '', url, qs = {} }: Pick<IHttpRequestOptions, 'baseURL' | 'url' | 'qs'>,
): Promise<{ body: unknown; headers: Record<string, string>; statusCode: number }> {
  const address = new URL(baseURL + url);
  for (const [name, value] of Object.entries(qs)) address.searchParams.set(name, String(value));
  const added = Object.entries(new LeadtapApi().authenticate.properties.headers ?? {});
  const sent = Object.fromEntries(added.map(([name, value]) => [name, resolve(value, credential)]));
  const response = await fetch(address, { headers: sent });
  const text = await response.text();
  const headers = Object.fromEntries<string>(response.headers);
  const data: unknown = headers['content-type']?.includes('json') ? JSON.parse(text) : text;
  if (!response.ok) throw new AxiosError({ status: response.status, headers, data }, sent);
  return { body: data, headers, statusCode: response.status };
}
