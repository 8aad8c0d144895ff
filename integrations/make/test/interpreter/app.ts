import { readFileSync } from 'node:fs';

/** What an IML file holds. Directives that are not named here are an error, as they are in Make's editor. */
export interface Communication {
  readonly url?: string;
  readonly baseUrl?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly response?: ResponseDirectives;
  readonly pagination?: { readonly url: string; readonly condition: string };
  readonly log?: { readonly sanitize: readonly string[] };
}

export interface ResponseDirectives {
  readonly type?: Readonly<Record<string, string>>;
  readonly valid?: { readonly condition: string; readonly message: string; readonly type: string };
  readonly iterate?: string | { readonly container: string; readonly condition: string };
  readonly limit?: string | number;
  readonly output?: unknown;
  readonly trigger?: TriggerDirectives;
  readonly metadata?: { readonly type: string; readonly value: string };
  /** What Make keeps of an attached webhook. */
  readonly data?: Readonly<Record<string, string>>;
  readonly error?: ErrorDirectives;
}

export interface TriggerDirectives {
  readonly type: 'date';
  readonly order: 'asc' | 'desc';
  readonly id: string;
  readonly date: string;
}

export interface ErrorDirective {
  readonly type?: string;
  readonly message: string;
}

/** Beside the general one, by status. */
export type ErrorDirectives = ErrorDirective & { readonly [status: `${number}`]: ErrorDirective };

/** What Make does with an event that arrives at the address of a webhook. */
export interface WebhookCommunication {
  readonly condition: string;
  readonly output: Readonly<Record<string, string>>;
}

export interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly label: string;
  readonly help?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly spec?: unknown;
}

interface Component {
  readonly label: string;
  readonly connection?: string;
  readonly moduleType?: string;
  readonly webhook?: string;
  readonly webhookType?: string;
  readonly codeFiles: Readonly<Record<string, string>>;
}

export interface Manifest {
  readonly fileVersion: number;
  readonly generalCodeFiles: Readonly<Record<string, string | null>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Component>>>>;
}

const APP = new URL('../../', import.meta.url);

export const fileOf = (path: string): URL => new URL(path, APP);

const readJson = (path: string): unknown => JSON.parse(readFileSync(fileOf(path), 'utf8'));

export interface App {
  readonly manifest: Manifest;
  readonly base: Communication;
  readonly connection: { readonly communication: Communication; readonly params: readonly Parameter[] };
  readonly trigger: {
    readonly communication: Communication;
    readonly epoch: Communication;
    readonly staticParams: readonly Parameter[];
    readonly interface: readonly Parameter[];
    readonly samples: unknown;
  };
  readonly webhook: {
    readonly communication: WebhookCommunication;
    readonly attach: Communication;
    readonly detach: Communication;
  };
  readonly instant: { readonly interface: readonly Parameter[]; readonly samples: unknown };
  readonly list: {
    readonly communication: Communication;
    readonly mappableParams: readonly Parameter[];
    readonly interface: readonly Parameter[];
    readonly samples: unknown;
  };
}

/** The app, by way of its manifest: what the manifest does not name is not part of it. */
export function readApp(): App {
  const manifest = readJson('makecomapp.json') as Manifest;
  const file = (component: Component | undefined, name: string): unknown =>
    readJson(component?.codeFiles[name] ?? `no ${name} in the manifest`);
  const { connection, module, webhook } = manifest.components;
  const trigger = module?.['watchNewLeads'];
  const account = connection?.[trigger?.connection ?? ''];
  const instant = module?.['watchLeadEvents'];
  const list = module?.['listLeads'];
  const hook = webhook?.[instant?.webhook ?? ''];
  return {
    manifest,
    base: readJson(manifest.generalCodeFiles['base'] ?? 'no base in the manifest') as Communication,
    connection: {
      communication: file(account, 'communication') as Communication,
      params: file(account, 'params') as readonly Parameter[],
    },
    trigger: {
      communication: file(trigger, 'communication') as Communication,
      epoch: file(trigger, 'epoch') as Communication,
      staticParams: file(trigger, 'staticParams') as readonly Parameter[],
      interface: file(trigger, 'interface') as readonly Parameter[],
      samples: file(trigger, 'samples'),
    },
    webhook: {
      communication: file(hook, 'communication') as WebhookCommunication,
      attach: file(hook, 'attach') as Communication,
      detach: file(hook, 'detach') as Communication,
    },
    instant: {
      interface: file(instant, 'interface') as readonly Parameter[],
      samples: file(instant, 'samples'),
    },
    list: {
      communication: file(list, 'communication') as Communication,
      mappableParams: file(list, 'mappableParams') as readonly Parameter[],
      interface: file(list, 'interface') as readonly Parameter[],
      samples: file(list, 'samples'),
    },
  };
}
