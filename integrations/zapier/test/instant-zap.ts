import type { Lead } from '@leadtap/contract';
import type { Bundle, ZObject } from 'zapier-platform-core';
import {
  type ReceivedEvent,
  type Receiver,
  respondWith,
} from '../../../packages/testing/integrations/hook-receiver.ts';
import { receive, subscribe, unsubscribe } from '../src/triggers/new-lead-instant.ts';
import { type Connection, run } from './connection.ts';

type Subscription = Awaited<ReturnType<typeof subscribe>>;

/** `webhook-id` becomes `Http-Webhook-Id`; Zapier leaves the prefix out for these two alone. */
function headerName(name: string): string {
  const named = name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
  return /^content-(type|length)$/.test(name) ? named : `Http-${named}`;
}

/** What Zapier gives to a run. */
export const bundleOf = ({ headers, text }: Pick<ReceivedEvent, 'headers' | 'text'>): Partial<Bundle> => ({
  rawRequest: {
    method: 'POST',
    querystring: '',
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [headerName(name), String(value)]),
    ),
    content: text,
  },
  cleanedRequest: JSON.parse(text),
});

/**
 * A Zap with the instant trigger. Zapier accepts an event before anything runs, and runs it later: here, when the test says so. Each
 * lead that a run returns starts the Zap; nothing is compared. Events for a Zap that is off or deleted get a 410.
 */
export class InstantZap {
  /** The leads that the Zap ran for, in their order. */
  readonly runs: Lead[] = [];
  readonly accepted: ReceivedEvent[] = [];
  readonly connection: Connection;
  readonly targetUrl: string;
  /** Zapier's cache. Undefined: that of the test runner. */
  cache: ZObject['cache'] | undefined;
  /** Zapier accepts events, but its responses do not arrive. */
  losesResponses = false;
  #subscription: Subscription | undefined;

  private constructor(connection: Connection, targetUrl: string) {
    this.connection = connection;
    this.targetUrl = targetUrl;
  }

  static async turnOn(receiver: Receiver, connection: Connection, path = '/hook'): Promise<InstantZap> {
    const zap = new InstantZap(connection, receiver.origin + path);
    const respondToOthers = receiver.respond;
    receiver.respond = (response, event) => {
      if (event.path !== path) return respondToOthers(response, event);
      if (zap.#subscription) zap.accepted.push(event);
      if (zap.losesResponses) return void response.destroy();
      respondWith(zap.#subscription ? 200 : 410)(response);
    };
    zap.#subscription = await run(subscribe, connection, {}, { targetUrl: zap.targetUrl });
    return zap;
  }

  get subscription(): Subscription {
    if (!this.#subscription) throw new Error('the Zap is off');
    return this.#subscription;
  }

  async turnOff(): Promise<void> {
    await run(unsubscribe, this.connection, {}, { subscribeData: this.subscription });
    this.#subscription = undefined;
  }

  /** Zapier sends no request then. */
  delete(): void {
    this.#subscription = undefined;
  }

  /** Runs what was accepted, and fails as the first run that fails. */
  async runAccepted(now?: () => number): Promise<void> {
    const runs = this.accepted.splice(0).map((event) => () => this.runEvent(event, now));
    const results: PromiseSettledResult<void>[] = [];
    for (const start of runs) results.push(...(await Promise.allSettled([start()])));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async runEvent(event: Pick<ReceivedEvent, 'headers' | 'text'>, now?: () => number): Promise<void> {
    const more = { ...bundleOf(event), subscribeData: this.subscription };
    const perform = (z: ZObject, bundle: Bundle) =>
      receive({ ...z, cache: this.cache ?? z.cache }, bundle, now);
    this.runs.push(...(await run(perform, this.connection, {}, more)));
  }
}
