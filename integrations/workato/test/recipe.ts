import { type Receiver, respondWith } from '../../../packages/testing/integrations/hook-receiver.ts';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';
import { pollWithConnector, subscribeWithConnector, unsubscribeWithConnector } from './ruby.ts';

/**
 * A recipe with the instant trigger. Workato subscribes when it is started, and calls `poll` with the closure then, after events, and
 * every 12 hours. It makes a job of each lead whose dedup key it has not seen, and keeps the closure if a poll fails.
 */
export class Recipe {
  /** The ids of the leads that it made jobs of. The dedup key is checked by check.rb. */
  readonly jobs: string[] = [];
  /** Events since the last poll. */
  events = 0;
  readonly #connection: Connection;
  readonly #url: string;
  #kept: string | undefined;
  #closure = 'null';

  private constructor(connection: Connection, url: string) {
    this.#connection = connection;
    this.#url = url;
  }

  static async start(receiver: Receiver, connection: Connection, path = '/hook'): Promise<Recipe> {
    const recipe = new Recipe(connection, receiver.origin + path);
    const respondToOthers = receiver.respond;
    receiver.respond = (response, event) => {
      if (event.path !== path) return respondToOthers(response, event);
      if (recipe.#kept) recipe.events += 1;
      respondWith(recipe.#kept ? 200 : 410)(response);
    };
    recipe.#kept = await subscribeWithConnector(connection, recipe.#url);
    await recipe.poll();
    return recipe;
  }

  get hookId(): string {
    return JSON.parse(this.#kept ?? '{}').id;
  }

  /** One poll, however many events there were. */
  async poll(connection = this.#connection): Promise<void> {
    this.events = 0;
    const { ids, error, closure } = await pollWithConnector(
      connection,
      '',
      this.#closure,
      'new_lead_instant',
    );
    if (error !== undefined) throw new Error(error);
    this.#closure = closure;
    this.jobs.push(...ids);
  }

  async stop(): Promise<void> {
    const kept = this.#kept ?? '{}';
    this.#kept = undefined;
    await unsubscribeWithConnector(this.#connection, kept);
  }

  /** Workato sends no request then. */
  delete(): void {
    this.#kept = undefined;
  }
}
