import type { HookEvent, Lead } from '@leadtap/contract';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';
import { evaluateExpression, expressionOf, type RunValues } from './guide.ts';
import { call, operationOf } from './power-automate.ts';

export interface InstantFlowOptions {
  readonly connection: Connection;
  /** The address that Power Automate has for the flow. */
  readonly url: string;
  /** The steps in Apply to each. */
  readonly process: (lead: Lead) => void;
  /** For the retry policy. Default: it does not give up. */
  readonly now?: () => number;
}

/** Count 90, interval PT1M. */
const RETRIED_FOR_MS = 90 * 60_000;

interface WaitingRun {
  readonly event: HookEvent;
  /** The variable. */
  readonly since: string;
  readonly failsAt: number;
}

/** The statuses that a retry policy repeats an action for. A connection that fails is repeated too. */
const RETRIED = new Set([408, 429, 500, 502, 503, 504]);

/** An action that its retry policy repeats later. */
class RetriedLater extends Error {}

/**
 * The flow of docs/integrations/power-automate.md. Saving it subscribes its address; switching it off sends DELETE to the Location that
 * came back, without the key. A run has the body of its event, and waits in the action that its retry policy repeats.
 */
export class InstantFlow {
  connection: Connection;
  /** Of the subscription. */
  location = '';
  /** Messages of runs that have failed. They can be resubmitted. */
  readonly failed: string[] = [];
  /** Runs whose retry policy waits: the rest of their window. */
  readonly waiting: WaitingRun[] = [];
  readonly #options: InstantFlowOptions;

  constructor(options: InstantFlowOptions) {
    this.#options = options;
    this.connection = options.connection;
  }

  get url(): string {
    return this.#options.url;
  }

  get hookId(): string {
    return this.location.slice(this.location.lastIndexOf('/') + 1);
  }

  async turnOn(): Promise<void> {
    const [body] = operationOf('LeadsAvailable').parameters;
    const fields = Object.entries(body?.schema?.properties ?? {});
    const content = Object.fromEntries(
      fields.filter(([, field]) => field['x-ms-notification-url']).map(([name]) => [name, this.url]),
    );
    const answer = await call(this.connection, 'LeadsAvailable', { body: content });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    this.location = answer.headers.get('location') ?? '';
  }

  async turnOff(): Promise<void> {
    await fetch(this.location, { method: 'DELETE' });
  }

  /** The retry policies repeat their actions. */
  async retry(): Promise<void> {
    for (const { event, since, failsAt } of this.waiting.splice(0)) await this.#run(event, since, failsAt);
  }

  /** An event has arrived at the address. */
  async receive({ event }: ReceivedEvent): Promise<void> {
    const since = String(
      evaluateExpression(expressionOf('Initialize variable'), { triggerBody: () => event }),
    );
    await this.#run(event, since);
  }

  /** Do until the variable `since` is equal to what the guide says. */
  async #run(event: HookEvent, start: string, failsAt?: number): Promise<void> {
    const { now = () => 0 } = this.#options;
    let since = start;
    try {
      const end = evaluateExpression(expressionOf('Do until'), { triggerBody: () => event });
      do since = await this.#runLoop(event, since);
      while (since !== end);
    } catch (error) {
      // The policy counts anew for each page.
      const until = (since === start ? failsAt : undefined) ?? now() + RETRIED_FOR_MS;
      if (error instanceof RetriedLater && now() < until) this.waiting.push({ event, since, failsAt: until });
      else this.failed.push(String(error));
    }
  }

  /** The steps in the loop, with the expressions of the guide. Gives the new value of the variable. */
  async #runLoop(event: HookEvent, since: string): Promise<string> {
    const outputs: Record<string, { readonly body: unknown; readonly headers?: object }> = {};
    const values: RunValues = {
      triggerBody: () => event,
      variables: () => since,
      outputs: (name) => outputs[name],
      body: (name) => outputs[name]?.body,
    };
    const evaluate = (action: string, more: RunValues = {}) =>
      evaluateExpression(expressionOf(action), { ...values, ...more });
    outputs['List_leads'] = await this.#listLeads(String(evaluate('List leads')));
    if (evaluate('Condition') !== true) throw new Error('Terminate: not a list of leads of Leadtap');
    const page = outputs['List_leads'].body;
    if (!Array.isArray(page)) throw new Error('Filter array needs a list');
    outputs['Filter_array'] = { body: page.filter((item) => evaluate('Filter array', { item: () => item })) };
    const leads = evaluateExpression("@{body('Filter_array')}", values) as readonly Lead[];
    leads.forEach(this.#options.process);
    return String(evaluate('Set variable'));
  }

  async #listLeads(since: string): Promise<{ readonly body: unknown; readonly headers: object }> {
    const answer = await call(this.connection, 'ListLeads', { query: { since } }).catch(() => {
      throw new RetriedLater();
    });
    if (RETRIED.has(answer.status)) throw new RetriedLater();
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    // The gateway spells the names of headers as HTTP/1.1 programs do.
    const link = answer.headers.get('link');
    return { body: await answer.json(), headers: link === null ? {} : { Link: link } };
  }
}
