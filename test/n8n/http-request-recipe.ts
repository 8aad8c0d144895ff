import { readFileSync } from 'node:fs';
import { type IDataObject, type INode, type INodeParameters, Workflow } from 'n8n-workflow';

const FILE = new URL('../../integrations/n8n/new-leads-with-http-request.json', import.meta.url);

interface RecipeNode extends Omit<INode, 'parameters'> {
  readonly parameters: INodeParameters & {
    readonly jsCode: string;
    readonly url: string;
    readonly queryParameters: { readonly parameters: readonly { name: string; value: string }[] };
    readonly options: {
      readonly pagination: {
        readonly pagination: { nextURL: string; completeExpression: string; maxRequests: number };
      };
    };
  };
}

interface Recipe {
  readonly nodes: readonly RecipeNode[];
  readonly connections: Record<string, { readonly main: readonly (readonly { node: string }[])[] }>;
}

const recipe: Recipe = JSON.parse(readFileSync(FILE, 'utf8'));

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

/** A Code node: its program with what n8n puts at its hand. */
function runCode(name: string, items: readonly IDataObject[], memory: IDataObject): IDataObject[] {
  const all = items.map((json) => ({ json }));
  const $input = { first: () => all[0], last: () => all.at(-1), all: () => all };
  const program = new Function('$input', '$getWorkflowStaticData', parametersOf(name).jsCode);
  const made: { json: IDataObject }[] = program($input, () => memory);
  return made.map(({ json }) => json);
}

/** The HTTP Request node with its pages. Nothing comes out of it for an empty answer. */
async function requestPages(json: IDataObject, token: string): Promise<IDataObject[]> {
  const { url, queryParameters, options } = parametersOf('New leads');
  const { nextURL, completeExpression, maxRequests } = options.pagination.pagination;
  let address = new URL(String(resolve(url, json)));
  for (const { name, value } of queryParameters.parameters)
    address.searchParams.set(name, String(resolve(value, json)));
  const leads: IDataObject[] = [];
  for (let requests = 0; requests < maxRequests; requests += 1) {
    const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    if (!response.ok) throw new Error(`the request failed with ${response.status}`);
    const body = (await response.json()) as IDataObject[];
    leads.push(...body);
    const $response = { body, headers: Object.fromEntries<string>(response.headers) };
    if (resolve(completeExpression, json, $response) === true) break;
    address = new URL(String(resolve(nextURL, json, $response)));
  }
  return leads;
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
  const [where = {}] = runCode('Since the last lead', [{ baseUrl, startFrom }], memory);
  const leads = await requestPages(where, token);
  if (leads.length === 0) return;
  for (const name of nodesAfter('New leads')) {
    if (name === 'Your nodes here') handle(leads);
    else runCode(name, leads, memory);
  }
}
