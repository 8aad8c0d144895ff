import { readFileSync } from 'node:fs';
import { type IDataObject, type INode, type INodeParameters, Workflow } from 'n8n-workflow';
import { expect } from 'vitest';

const FILE = new URL('../new-leads-with-http-request.json', import.meta.url);

interface RecipeNode extends Omit<INode, 'parameters'> {
  readonly parameters: INodeParameters & {
    readonly jsCode: string;
    readonly url: string;
    readonly queryParameters?: { readonly parameters: readonly { name: string; value: string }[] };
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
  readonly connections: Record<string, { readonly main: readonly (readonly Target[])[] }>;
}

interface Target {
  readonly node: string;
  readonly index: number;
}

export const recipe: Recipe = JSON.parse(readFileSync(FILE, 'utf8'));

function parametersOf(name: string): RecipeNode['parameters'] {
  const node = recipe.nodes.find((one) => one.name === name);
  if (!node) throw new Error(`the recipe has no node ${name}`);
  return node.parameters;
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
function runCode(
  name: string,
  items: readonly Item[],
  outputs: ReadonlyMap<string, readonly Item[]>,
  memory: IDataObject,
): Item[] {
  const access = (list: readonly Item[]) => ({
    first: () => list[0],
    last: () => list.at(-1),
    all: () => list,
  });
  const $ = (node: string) => access(outputs.get(node) ?? []);
  const program = new Function('$input', '$', '$getWorkflowStaticData', parametersOf(name).jsCode);
  return program(access(items), $, () => memory);
}

/** The HTTP Request node: one item for each page, with its headers. */
async function requestPages(json: IDataObject, token: string): Promise<Item[]> {
  const { url, queryParameters, options } = parametersOf('New leads');
  const { nextURL, completeExpression, maxRequests } = options.pagination.pagination;
  expect(options.response.response.fullResponse).toBe(true);
  let address = new URL(String(resolve(url, json)));
  const pages: Item[] = [];
  for (;;) {
    // n8n 2.8 also adds them to the URL of the next page, which has them already.
    for (const { name, value } of queryParameters?.parameters ?? [])
      address.searchParams.append(name, String(resolve(value, json)));
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

/** A node that people add: what it gives to each of its outputs. */
export type UserNode = (leads: IDataObject[]) => readonly (readonly IDataObject[])[];

export interface UserNodes {
  /** They take the place of “Your nodes here”, which is the first one. */
  readonly nodes: Readonly<Record<string, UserNode>>;
  /** Without them, each output of the first one goes where that of “Your nodes here” goes. */
  readonly connections?: Recipe['connections'];
  /** On the canvas, from the top; the other nodes stand at 0. */
  readonly height?: number;
}

const YOURS = 'Your nodes here';

/**
 * One run of the workflow that is to be imported, in the order of n8n (`executionOrder` v1 in workflow-execute.ts): a node puts
 * those after it on a stack, the topmost on top. One with several inputs waits for all of them, or until the stack is empty.
 * `memory` is its static data, which n8n keeps between runs.
 */
export async function runRecipe(
  { baseUrl, startFrom, token }: Connection,
  memory: IDataObject,
  { nodes, connections = {}, height = 0 }: UserNodes,
): Promise<void> {
  const wires = { ...recipe.connections, ...connections };
  const outputs = new Map<string, Item[]>();
  const stack: { readonly name: string; readonly items: readonly Item[] }[] = [];
  const waiting = new Map<string, (readonly Item[] | null)[]>();
  const heightOf = (name: string) =>
    nodes[name] ? height : (recipe.nodes.find((one) => one.name === name)?.position[1] ?? 0);
  const inputsOf = (name: string) =>
    Math.max(
      ...Object.values(wires).flatMap(({ main }) =>
        main.flat().flatMap((target) => (target.node === name ? [target.index + 1] : [])),
      ),
    );

  const runNode = async (name: string, items: readonly Item[]): Promise<Item[][]> => {
    const user = nodes[name];
    if (user) return user(items.map(({ json }) => json)).map((list) => list.map((json) => ({ json })));
    const { type } = recipe.nodes.find((one) => one.name === name) ?? {};
    if (type === 'n8n-nodes-base.scheduleTrigger') return [[{ json: {} }]];
    if (type === 'n8n-nodes-base.set') return [[{ json: { baseUrl, startFrom } }]];
    if (type === 'n8n-nodes-base.httpRequest') return [await requestPages(items[0]?.json ?? {}, token)];
    if (type === 'n8n-nodes-base.code') return [runCode(name, items, outputs, memory)];
    if (type === 'n8n-nodes-base.merge') return [[...items]];
    throw new Error(`no node ${name}, or one of a type that is not known here: ${type}`);
  };

  const add = ({ node: name, index }: Target, items: readonly Item[]) => {
    const count = inputsOf(name);
    if (count === 1) return void stack.push({ name, items });
    const inputs = waiting.get(name) ?? Array.from({ length: count }, () => null);
    inputs[index] = items;
    waiting.set(name, inputs);
    if (!inputs.includes(null)) start(name);
  };
  const start = (name: string) => {
    stack.push({ name, items: (waiting.get(name) ?? []).flatMap((items) => items ?? []) });
    waiting.delete(name);
  };

  stack.push({ name: 'Every 2 minutes', items: [] });
  for (let next = stack.pop(); next; next = stack.pop()) {
    const results = await runNode(next.name, next.items);
    outputs.set(next.name, results[0] ?? []);
    // n8n runs no node without items.
    const targets = results.flatMap((items, output) =>
      items.length === 0 ? [] : (wires[next.name]?.main[output] ?? []).map((target) => ({ target, items })),
    );
    for (const { target, items } of targets.toSorted(
      (a, b) => heightOf(b.target.node) - heightOf(a.target.node),
    ))
      add(target, items);
    const [oldest] = waiting.keys();
    if (stack.length === 0 && oldest !== undefined) start(oldest);
  }
}

/** One node that hands its leads on. */
export const handledBy = (handle: (leads: IDataObject[]) => void, height = 0): UserNodes => ({
  height,
  nodes: {
    [YOURS]: (leads) => {
      handle(leads);
      return [leads];
    },
  },
});
