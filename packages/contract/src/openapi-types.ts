/** The part of OpenAPI 3.1 that Leadtap's description uses. */
import type { CONNECTION_HANDLED_PATH, CONNECTION_PATH, CONNECTION_SEND_PATH } from './query.ts';

export interface Reference {
  readonly $ref: string;
}

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly examples?: readonly unknown[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

export interface Header {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export interface MediaType {
  readonly schema: Schema;
  readonly examples: Readonly<Record<string, Example>>;
}

export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference | Header>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** Of a webhook: the headers that the service sends. */
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Response>>;
}

export interface RequestBody {
  readonly required: boolean;
  readonly description: string;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface PathItem {
  readonly parameters: readonly Parameter[];
  readonly get: Operation;
  readonly head: Operation;
}

export interface PostPathItem {
  readonly parameters: readonly Parameter[];
  readonly post: Operation;
}

export interface PatchPathItem {
  readonly parameters: readonly Parameter[];
  readonly patch: Operation;
}

export interface HookPathItem extends PathItem {
  readonly patch: Operation;
  readonly delete: Operation;
}

export interface Webhook {
  readonly post: Operation;
}

export interface Server {
  readonly url: string;
  readonly description: string;
  readonly variables?: Readonly<Record<string, { readonly default: string; readonly description: string }>>;
}

/**
 * `Path` and `Name` are the paths and the component schemas that the document is known to have, `IntakePath` and `IntakeName`
 * those that it has only where leads are accepted. `HooksPath` is that of webhook subscriptions.
 */
export interface OpenApi<
  Path extends string,
  HooksPath extends string,
  IntakePath extends string,
  Name extends string,
  IntakeName extends string,
> {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly contact: { readonly name: string };
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly Server[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<
    Record<Path, PathItem> &
      Record<typeof CONNECTION_PATH, PatchPathItem> &
      Record<typeof CONNECTION_SEND_PATH | typeof CONNECTION_HANDLED_PATH, PostPathItem> &
      Record<HooksPath, PostPathItem> &
      Record<`${HooksPath}/{id}`, HookPathItem> &
      Partial<Record<IntakePath, PostPathItem>>
  >;
  readonly webhooks: Readonly<Record<string, Webhook>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly schemas: Readonly<Record<Name, Schema> & Partial<Record<IntakeName, Schema>>>;
  };
}
