import { readFileSync } from 'node:fs';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';
import { guide } from './guide.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly default?: unknown;
  readonly schema?: { readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

interface Definition {
  readonly swagger: string;
  readonly securityDefinitions: { readonly token: { readonly in: string; readonly name: string } };
  readonly paths: Readonly<Record<string, Path>>;
  readonly definitions: Readonly<Record<'Lead' | 'LeadEvent', ObjectSchema>>;
}

export interface ObjectSchema {
  readonly type: string;
  readonly properties: Readonly<Record<string, Partial<ObjectSchema>>>;
}

type Method = 'get' | 'post' | 'delete';
type Path = Readonly<Partial<Record<Method, Operation>>> & {
  readonly 'x-ms-notification-content'?: { readonly schema: { readonly $ref: string } };
};

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly 'x-ms-trigger'?: string;
  readonly 'x-ms-visibility'?: string;
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, object>> }>>;
}

interface Properties {
  readonly properties: {
    readonly policyTemplateInstances: readonly {
      readonly templateId: string;
      readonly parameters: {
        readonly 'x-ms-apimTemplateParameter.triggerConfig'?: Readonly<Record<string, string>>;
        readonly 'x-ms-apimTemplateParameter.triggerDataPath'?: string;
        readonly 'x-ms-apimTemplateParameter.newPath'?: string;
        readonly 'x-ms-apimTemplate-operationName': readonly string[];
      };
    }[];
  };
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));

export const definition = read('apiDefinition.swagger.json') as Definition;
export const properties = read('apiProperties.json') as Properties;

export interface FoundOperation extends Operation {
  readonly method: Method;
  /** Where it goes: a policy may route it to another path. */
  readonly path: string;
  readonly notification: string | undefined;
}

const METHODS: readonly Method[] = ['get', 'post', 'delete'];

export function operationOf(operationId: string): FoundOperation {
  for (const [path, found] of Object.entries(definition.paths))
    for (const method of METHODS) {
      const operation = found[method];
      if (operation?.operationId !== operationId) continue;
      const route = policiesOf(operationId)[0]?.parameters['x-ms-apimTemplateParameter.newPath'];
      const notification = found['x-ms-notification-content']?.schema.$ref;
      return { ...operation, method, path: route ?? path, notification };
    }
  throw new Error(`no operation ${operationId}`);
}

export const policiesOf = (operationId: string) =>
  properties.properties.policyTemplateInstances.filter(({ parameters }) =>
    parameters['x-ms-apimTemplate-operationName'].includes(operationId),
  );

/** What the gateway of Power Automate sends for an operation: the defaults of the definition, and what the flow gives. */
export async function call(
  { baseUrl, token }: Connection,
  operationId: string,
  given: { readonly query?: Readonly<Record<string, string>>; readonly body?: object } = {},
): Promise<Response> {
  const { method, path, parameters } = operationOf(operationId);
  const defaults = parameters.filter((found) => found.in === 'query' && found.default !== undefined);
  const query = new URLSearchParams({
    ...Object.fromEntries(defaults.map((found) => [found.name, String(found.default)])),
    ...given.query,
  });
  return fetch(`${baseUrl}${path}?${query}`, {
    method: method.toUpperCase(),
    headers: {
      [definition.securityDefinitions.token.name]: `Bearer ${token}`,
      ...(given.body && { 'content-type': 'application/json' }),
    },
    ...(given.body && { body: JSON.stringify(given.body) }),
  });
}

/** `@{triggerBody()[0].createdAt}` over a body; nothing where the path leads nowhere. */
export function evaluate(expression: string, body: unknown): unknown {
  const [, path] = /^@\{?triggerBody\(\)([^}]*)\}?$/.exec(expression) ?? [];
  if (path === undefined) throw new Error(`not an expression over triggerBody(): ${expression}`);
  const keys = path.split(/[.[\]]+/).filter(Boolean);
  return keys.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    body,
  );
}

/** The fields in the trigger condition of the guide. The flow runs for an element only if none of them is empty. */
export const requiredFields = [...guide.matchAll(/not\(empty\(triggerBody\(\)\?\['(\w+)'\]\)\)/g)].map(
  ([, name = '']) => name,
);

const passesCondition = (element: unknown): boolean =>
  requiredFields.every((name) => {
    const value = typeof element === 'object' && element !== null ? Reflect.get(element, name) : undefined;
    return value !== undefined && value !== null && value !== '';
  });

/**
 * The polling trigger of a custom connector, as Microsoft documents it: the first call only sets the state; each later one
 * sends it, runs the flow for every element, and takes the new state out of the answer.
 */
export class PollingTrigger {
  connection: Connection;
  state: Readonly<Record<string, string>> | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** What the flow is run for. */
  async poll(): Promise<unknown[]> {
    const [policy] = policiesOf('NewLead');
    const config = policy?.parameters['x-ms-apimTemplateParameter.triggerConfig'] ?? {};
    const body = await this.#call();
    const isFirst = this.state === undefined;
    const values = Object.entries(config).map(([name, expression]) => [name, evaluate(expression, body)]);
    this.state = { ...this.state, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) };
    const found = evaluate(policy?.parameters['x-ms-apimTemplateParameter.triggerDataPath'] ?? '', body);
    return isFirst || !Array.isArray(found) ? [] : found.filter(passesCondition);
  }

  async #call(): Promise<unknown> {
    const answer = await call(this.connection, 'NewLead', { query: this.state ?? {} });
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    return answer.json();
  }
}
