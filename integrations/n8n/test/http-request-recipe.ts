import { readFileSync } from 'node:fs';
import { type IDataObject, type INode, type INodeParameters, Workflow } from 'n8n-workflow';
import { expect } from 'vitest';

const FILE = new URL('../new-leads-with-http-request.json', import.meta.url);

interface RecipeNode extends Omit<INode, 'parameters'> {
  readonly parameters: INodeParameters & {
    readonly jsCode: string;
    readonly url: string;
    readonly queryParameters: { readonly parameters: readonly { name: string; value: string }[] };
    readonly options: {
      readonly response: { readonly response: { readonly fullResponse: boolean } };
      readonly pagination: {
        readonly pagination: { nextURL: string; completeExpression: string; maxRequests: number };
      };
    };
  };
}

interface Recipe {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly nodes: readonly RecipeNode[];
  readonly connections: Record<string, { readonly main: readonly (readonly { node: string }[])[] }>;
}

export const recipe: Recipe = JSON.parse(readFileSync(FILE, 'utf8'));

function parametersOf(name: string): RecipeNode['parameters'] {
  const node = recipe.nodes.find((one) => one.name === name);
  if (!node) throw new Error(`the recipe has no node ${name}`);
  return node.parameters;
}

/** What the output of a node goes to, in the order in which n8n runs it: from the top. */
export function nodesAfter(name: string): string[] {
  const height = (node: string) => recipe.nodes.find((one) => one.name === node)?.position[1] ?? 0;
  const targets = recipe.connections[name]?.main[0]?.map(({ node }) => node) ?? [];
  return targets.toSorted((one, other) => height(one) - height(other));
}

const node: INode = { id: '', name: 'New leads', type: '', typeVersion: 1, position: [0, 0], parameters: {} };
/** n8n's own nodes are not installed here. It leaves out what it knows of their types. */
const unknownType = () => undefined as never;
const { expression } = new Workflow({
  nodes: [node],
  connections: {},
  active: true,
  nodeTypes: { getByName: unknownType, getByNameAndVersion: unknownType, getKnownTypes: () => ({}) },
});

const resolve = (value: string, json: IDataObject, $response: IDataObject = {}): unknown =>
  expression.getParameterValue(value, null, 0, 0, node.name, [{ json }], 'trigger', { $response });

type Item = { readonly json: IDataObject };

/** A Code node: its program with what n8n puts at its hand. */
function runCode(name: string, items: readonly Item[], settings: IDataObject, memory: IDataObject): Item[] {
  const $input = { first: () => items[0], last: () => items.at(-1), all: () => items };
  const $ = (node: string) => ({ first: () => ({ json: node === 'Settings' ? settings : {} }) });
  const program = new Function('$input', '$', '$getWorkflowStaticData', parametersOf(name).jsCode);
  return program($input, $, () => memory);
}

/** The HTTP Request node: one item for each page, with its headers. */
async function requestPages(json: IDataObject, token: string): Promise<Item[]> {
  const { url, queryParameters, options } = parametersOf('New leads');
  const { nextURL, completeExpression, maxRequests } = options.pagination.pagination;
  expect(options.response.response.fullResponse).toBe(true);
  let address = new URL(String(resolve(url, json)));
  for (const { name, value } of queryParameters.parameters)
    address.searchParams.set(name, String(resolve(value, json)));
  const pages: Item[] = [];
  for (;;) {
    const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    const body = bodyOf(response, await response.text());
    const answer = {
      body,
      headers: Object.fromEntries<string>(response.headers),
      statusCode: response.status,
    };
    pages.push(itemOf(answer));
    // n8n ends here whatever the status of the last request was.
    if (pages.length === maxRequests) return pages;
    if (resolve(completeExpression, json, answer) === true) return pages;
    if (!response.ok) throw new Error(`the request failed with ${response.status}`);
    address = new URL(String(resolve(nextURL, json, answer)));
  }
}

/** What n8n makes of a body that is declared as JSON and is not: an empty object. */
function bodyOf({ headers }: Response, text: string): IDataObject | string {
  if (!headers.get('content-type')?.includes('application/json')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function itemOf({
  body,
  ...answer
}: {
  body: IDataObject | string;
  headers: IDataObject;
  statusCode: number;
}): Item {
  const isText = !String(answer.headers['content-type']).includes('application/json');
  if (isText) return { json: { data: body, ...answer } };
  if (typeof body === 'string') throw new Error('Response body is not valid JSON');
  return { json: { body, ...answer } };
}

export interface Connection {
  readonly baseUrl: string;
  readonly startFrom: string;
  readonly token: string;
}

/** One run of the workflow that is to be imported. `memory` is its static data, which n8n keeps between runs. */
export async function runRecipe(
  { baseUrl, startFrom, token }: Connection,
  memory: IDataObject,
  handle: (leads: IDataObject[]) => void,
): Promise<void> {
  const settings = { baseUrl, startFrom };
  const [where] = runCode('Since the last lead', [{ json: settings }], settings, memory);
  const pages = await requestPages(where?.json ?? {}, token);
  const [check = ''] = nodesAfter('New leads');
  const leads = runCode(check, pages, settings, memory);
  // n8n runs no node without items.
  if (leads.length === 0) return;
  for (const name of nodesAfter(check)) {
    if (name === 'Your nodes here') handle(leads.map(({ json }) => json));
    else runCode(name, leads, settings, memory);
  }
}
