import type { Receiver } from '../integrations/hook-receiver.ts';
import type { Connection } from '../integrations/new-leads.ts';

/** What a poller delivers: a lead with at least these fields. */
export interface HandedOn {
  readonly id: string;
}

/** What a poller has around it. */
export interface Environment {
  readonly connection: Connection;
  /** The clock of the machine that it runs on. */
  readonly now: () => number;
  /** Starts the automation for a lead. */
  readonly handOn: (lead: HandedOn) => void;
  /** Every change of what outlives the poller's process is made in here. */
  readonly store: (write: () => void) => void;
  /** Resolves when the service holds a request of the poller, and there is no lead that would end the wait. */
  readonly untilHeld: () => Promise<void>;
  /** Where the platform receives events of webhook subscriptions. The service may send them there. */
  readonly receiver: Receiver;
  /** Resolves when the service has sent every event that is due now. */
  readonly untilSent: () => Promise<void>;
}

/** A platform's way of polling. */
export interface Poller {
  /** Somebody turns the automation on. */
  turnOn(): Promise<void>;
  /** What happens at each tick of its schedule. Rejects when the platform would show an error. */
  poll(): Promise<void>;
  /** Its process is gone, and another one begins with what was stored. */
  restart(): void;
  /** After so many polls in a row that bring nothing, nothing more comes. Default: 2. */
  readonly idlePolls?: number;
}

/** For those that poll after events alone: an event whose leads still wait is sent again after ten minutes, six polls of two minutes. */
export const UNTIL_REMINDED = 7;

export type MakePoller = (environment: Environment) => Poller;

/** Keeps text for a poller, and nothing that a dead process writes. */
export class Storage extends Map<string, string> {
  readonly #store: Environment['store'];

  constructor({ store }: Pick<Environment, 'store'>, kept: Iterable<[string, string]> = []) {
    super();
    for (const [key, value] of kept) super.set(key, value);
    this.#store = store;
  }

  override set(key: string, value: string): this {
    this.#store(() => super.set(key, value));
    return this;
  }
}
