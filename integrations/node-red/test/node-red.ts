import { readFileSync } from 'node:fs';
import { compileFunction, createContext } from 'node:vm';

export interface Message {
  readonly [key: string]: unknown;
}

type Sent = Message | readonly (Message | null)[] | null | undefined;

export interface Node {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly func?: string;
  readonly initialize?: string;
  readonly wires?: readonly (readonly string[])[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly [property: string]: unknown;
}

const readFlow = (file: string): readonly Node[] =>
  JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));

export const FLOW = readFlow('new-leads.flow.json');
export const INSTANT_FLOW = readFlow('new-leads-instant.flow.json');

/** What function nodes keep, if Node-RED keeps its context in files. */
export type Context = Map<string, unknown>;

export interface NodeRedOptions {
  readonly flow?: readonly Node[];
  readonly context?: Context;
  readonly now?: () => number;
  /** What a delay node does. */
  readonly pause?: (ms: number) => Promise<void>;
  /** What takes the place of “put your nodes here”: it resolves with what is passed on, or rejects if a node of it fails. */
  readonly yourNodes?: (lead: Message) => Promise<Message | undefined>;
}

/** Runs a flow as Node-RED does, as far as its nodes need it: inject, function, http request, delay, change, catch, debug. */
export class NodeRed {
  env: Readonly<Record<string, string>>;
  readonly context: Context;
  /** What reached each debug node. */
  readonly shown = new Map<string, Message[]>();
  /** Called before a message is shown. */
  onShown: (id: string, message: Message) => void = () => undefined;
  readonly #flow: readonly Node[];
  readonly #now: () => number;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #yourNodes: NodeRedOptions['yourNodes'];
  readonly #stopped = new AbortController();
  readonly #delayed = new Set<Promise<void>>();
  readonly #requests = new Set<Promise<void>>();
  readonly #sent: { readonly id: string; readonly message: Message }[] = [];
  #isDelivering = false;

  constructor(env: Readonly<Record<string, string>>, options: NodeRedOptions = {}) {
    this.#flow = options.flow ?? FLOW;
    const defaults = this.#flow.find(({ type }) => type === 'tab')?.env ?? [];
    this.env = { ...Object.fromEntries(defaults.map(({ name, value }) => [name, value])), ...env };
    this.context = options.context ?? new Map();
    this.#now = options.now ?? Date.now;
    this.#pause = options.pause ?? (() => Promise.reject(new Error('this flow has no delay node')));
    this.#yourNodes = options.yourNodes;
    for (const { initialize } of this.#flow) if (initialize) run(initialize, this.#sandbox());
  }

  /** What the inject node does each time; done when no request is left. */
  async inject(): Promise<void> {
    const inject = this.#flow.find(({ type }) => type === 'inject');
    if (inject) this.#send(inject, {});
    for (const request of this.#requests) await request;
  }

  /** Its process ends: connections are closed, and nothing more happens. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves when nothing is left to do, which only happens to a flow with a loop if it is stopped. */
  async ended(): Promise<void> {
    for (const delayed of this.#delayed) await delayed;
  }

  #receive(id: string, message: Message): void {
    if (this.#stopped.signal.aborted) return;
    const node = this.#flow.find((candidate) => candidate.id === id);
    if (node?.type === 'function') this.#function(node, message);
    else if (node?.type === 'http request') this.#requests.add(this.#request(node, message));
    else if (node?.type === 'delay') this.#delayed.add(this.#delay(node, message));
    else if (node?.type === 'change' && this.#yourNodes)
      this.#delayed.add(this.#runYourNodes(node, message, this.#yourNodes));
    else if (node?.type === 'change') this.#send(node, message);
    else if (node?.type === 'debug') this.#show(id, message);
    else throw new Error(`no node ${id}, or one of a type that is not known here: ${node?.type}`);
  }

  async #delay(node: Node, message: Message): Promise<void> {
    if (node['pauseType'] !== 'delayv') throw new Error('only a delay that the message sets is known here');
    await this.#pause(Number(message['delay']));
    this.#send(node, message);
  }

  async #runYourNodes(node: Node, message: Message, run: NonNullable<NodeRedOptions['yourNodes']>) {
    try {
      const passedOn = await run(message);
      if (!this.#stopped.signal.aborted) this.#send(node, passedOn);
    } catch (error) {
      this.#catch(node, message, String(error));
    }
  }

  /** The message goes on with the answer in it. A connection that fails is an error, and the message goes on all the same. */
  async #request(node: Node, message: Message): Promise<void> {
    const answered = await request(message, this.#stopped.signal);
    if (typeof answered['statusCode'] === 'string') this.#catch(node, message, String(answered['payload']));
    this.#send(node, answered);
  }

  #show(id: string, message: Message): void {
    this.onShown(id, message);
    const messages = this.shown.get(id) ?? [];
    messages.push(message);
    this.shown.set(id, messages);
  }

  /** Each message waits for those that were sent before it. */
  #send({ wires = [] }: Node, sent: Sent): void {
    const outputs: readonly (Message | null)[] = Array.isArray(sent) ? sent : [(sent as Message) ?? null];
    for (const [output, message] of outputs.entries())
      if (message) for (const id of wires[output] ?? []) this.#sent.push({ id, message });
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (let next = this.#sent.shift(); next; next = this.#sent.shift()) this.#receive(next.id, next.message);
    this.#isDelivering = false;
  }

  /** What Node-RED shows to the code of function nodes. */
  #sandbox() {
    return {
      flow: {
        get: (key: string) => this.context.get(key),
        // `undefined` deletes a value, and later changes of an object do not reach the context.
        set: (key: string, value: unknown) =>
          void (value === undefined
            ? this.context.delete(key)
            : this.context.set(key, JSON.parse(JSON.stringify(value)))),
      },
      env: { get: (name: string) => this.env[name] },
      Date: { now: this.#now },
    };
  }

  #function(node: Node, msg: Message): void {
    const sent: Sent[] = [];
    const errors: [text: string, message: Message][] = [];
    const result: Sent = run(node.func ?? '', {
      msg,
      ...this.#sandbox(),
      node: {
        send: (messages: Sent) => void sent.push(messages),
        status: () => undefined,
        error: (...error: [text: string, message: Message]) => void errors.push(error),
      },
    });
    for (const messages of sent) this.#send(node, plain(messages));
    for (const [text, message] of errors) this.#catch(node, message, text);
    this.#send(node, plain(result));
  }

  /** To the catch nodes that list the node; if there are none, to those for what no other one catches. */
  #catch({ id }: Node, message: Message, text: string): void {
    const catchNodes = this.#flow.filter(({ type }) => type === 'catch');
    const listing = catchNodes.filter(({ scope }) => Array.isArray(scope) && scope.includes(id));
    const uncaught = catchNodes.filter(({ scope, uncaught }) => scope === null && uncaught);
    const error = { ...message, error: { message: text, source: { id } } };
    for (const node of listing.length > 0 ? listing : uncaught) this.#send(node, error);
  }
}

/** The code of function nodes sees nothing of this program. */
const REALM = createContext();
const compiled = new Map<string, (...values: readonly unknown[]) => Sent>();

function run(code: string, sandbox: object): Sent {
  const names = Object.keys(sandbox);
  const key = `${names}:${code}`;
  const body =
    compiled.get(key) ??
    (compileFunction(code, names, { parsingContext: REALM }) as (...values: readonly unknown[]) => Sent);
  compiled.set(key, body);
  return body(...Object.values(sandbox));
}

/** Of another realm, whose arrays are none here. */
const plain = (sent: Sent): Sent => (sent === undefined ? undefined : JSON.parse(JSON.stringify(sent)));

async function request(message: Message, signal: AbortSignal): Promise<Message> {
  try {
    const headers = message['headers'] as Record<string, string>;
    const answer = await fetch(String(message['url']), { headers, signal });
    const payload = parsed(await answer.text());
    return {
      ...message,
      payload,
      headers: Object.fromEntries(answer.headers),
      statusCode: answer.status,
    };
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
