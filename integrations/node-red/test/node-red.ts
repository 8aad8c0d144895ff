import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';

interface Message {
  readonly [key: string]: unknown;
}

type Sent = Message | readonly (Message | null)[] | null | undefined;

export interface Node {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly func?: string;
  readonly wires?: readonly (readonly string[])[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly [property: string]: unknown;
}

export const FLOW: readonly Node[] = JSON.parse(
  readFileSync(new URL('../new-leads.flow.json', import.meta.url), 'utf8'),
);

/** What function nodes keep, if Node-RED keeps its context in files. */
export type Context = Map<string, unknown>;

/** Runs the flow as Node-RED does, as far as its nodes need it: inject, function, http request, catch, debug. */
export class NodeRed {
  env: Readonly<Record<string, string>>;
  readonly context: Context;
  /** What reached each debug node. */
  readonly shown = new Map<string, Message[]>();

  constructor(env: Readonly<Record<string, string>>, context: Context = new Map()) {
    const defaults = FLOW.find(({ type }) => type === 'tab')?.env ?? [];
    this.env = { ...Object.fromEntries(defaults.map(({ name, value }) => [name, value])), ...env };
    this.context = context;
  }

  /** What the inject node does each time; done when all that follows is done. */
  async inject(): Promise<void> {
    const inject = FLOW.find(({ type }) => type === 'inject');
    for (const id of inject?.wires?.[0] ?? []) await this.#receive(id, {});
  }

  async #receive(id: string, message: Message): Promise<void> {
    const node = FLOW.find((candidate) => candidate.id === id);
    if (node?.type === 'function') await this.#function(node, message);
    else if (node?.type === 'http request') await this.#send(node, await request(message));
    else if (node?.type === 'debug') this.#show(id, message);
    else throw new Error(`no node ${id}, or one of a type that is not known here: ${node?.type}`);
  }

  #show(id: string, message: Message): void {
    this.shown.set(id, [...(this.shown.get(id) ?? []), message]);
  }

  async #send({ wires = [] }: Node, sent: Sent): Promise<void> {
    const outputs: readonly (Message | null)[] = Array.isArray(sent) ? sent : [(sent as Message) ?? null];
    for (const [output, message] of outputs.entries())
      if (message) for (const id of wires[output] ?? []) await this.#receive(id, message);
  }

  /** Its code sees what Node-RED shows it and nothing of this program. */
  async #function(node: Node, msg: Message): Promise<void> {
    const sent: Sent[] = [];
    const errors: Message[] = [];
    const result: Sent = runInNewContext(`(function () {${node.func}})()`, {
      msg,
      flow: {
        get: (key: string) => this.context.get(key),
        set: (key: string, value: unknown) => void this.context.set(key, value),
      },
      env: { get: (name: string) => this.env[name] },
      node: {
        send: (messages: Sent) => void sent.push(messages),
        status: () => undefined,
        error: (text: string, message: Message) =>
          void errors.push({ ...message, error: { message: text, source: { id: node.id } } }),
      },
    });
    for (const messages of [...sent, result]) await this.#send(node, plain(messages));
    for (const error of errors) await this.#catch(node, error);
  }

  async #catch({ id }: Node, error: Message): Promise<void> {
    const catchNodes = FLOW.filter(({ type, scope }) => type === 'catch' && (scope as string[]).includes(id));
    for (const node of catchNodes) await this.#send(node, error);
  }
}

/** Of another realm, whose arrays are none here. */
const plain = (sent: Sent): Sent => (sent === undefined ? undefined : JSON.parse(JSON.stringify(sent)));

/** The message goes on with the answer in it; a connection that fails is an answer too. */
async function request(message: Message): Promise<Message> {
  try {
    const answer = await fetch(String(message['url']), {
      headers: message['headers'] as Record<string, string>,
    });
    const payload = parsed(await answer.text());
    const headers = Object.fromEntries(answer.headers);
    return { ...message, payload, headers, statusCode: answer.status };
  } catch (error) {
    return { ...message, payload: String(error), statusCode: 'ECONNREFUSED' };
  }
}

/** Node-RED warns about a body that is not JSON, and passes it on as a text. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
