import { readFileSync } from 'node:fs';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';

interface QueryParameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly default?: unknown;
}

interface Definition {
  readonly swagger: string;
  readonly securityDefinitions: { readonly token: { readonly in: string; readonly name: string } };
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly definitions: { readonly Lead: { readonly properties: Readonly<Record<string, object>> } };
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly QueryParameter[];
  readonly 'x-ms-trigger': string;
}

interface Properties {
  readonly properties: {
    readonly policyTemplateInstances: readonly {
      readonly templateId: string;
      readonly parameters: {
        readonly 'x-ms-apimTemplateParameter.triggerConfig': Readonly<Record<string, string>>;
        readonly 'x-ms-apimTemplateParameter.triggerDataPath': string;
        readonly 'x-ms-apimTemplate-operationName': readonly string[];
      };
    }[];
  };
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));

export const definition = read('apiDefinition.swagger.json') as Definition;
export const properties = read('apiProperties.json') as Properties;

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

const guide = readFileSync(new URL('../../../docs/integrations/power-automate.md', import.meta.url), 'utf8');

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
    const [policy] = properties.properties.policyTemplateInstances;
    const config = policy?.parameters['x-ms-apimTemplateParameter.triggerConfig'] ?? {};
    const body = await this.#call();
    const isFirst = this.state === undefined;
    const values = Object.entries(config).map(([name, expression]) => [name, evaluate(expression, body)]);
    this.state = { ...this.state, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) };
    const found = evaluate(policy?.parameters['x-ms-apimTemplateParameter.triggerDataPath'] ?? '', body);
    return isFirst || !Array.isArray(found) ? [] : found.filter(passesCondition);
  }

  async #call(): Promise<unknown> {
    const [[path, { get }] = ['', { get: undefined }]] = Object.entries(definition.paths);
    const defaults = (get?.parameters ?? []).filter(({ default: value }) => value !== undefined);
    const query = new URLSearchParams({
      ...Object.fromEntries(defaults.map(({ name, default: value }) => [name, String(value)])),
      ...this.state,
    });
    const { baseUrl, token } = this.connection;
    const headers = { [definition.securityDefinitions.token.name]: `Bearer ${token}` };
    const answer = await fetch(`${baseUrl}${path}?${query}`, { headers });
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    return answer.json();
  }
}
