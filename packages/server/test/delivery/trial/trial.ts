import type { Installation } from './callers.ts';
import { SeatedPoller } from './http-pollers.ts';
import { commitWhilePollsWait, overtake } from './interleavings.ts';
import { Ledger } from './ledger.ts';
import { makePlans } from './plans.ts';
import type { Seat } from './seats.ts';
import { Sightings } from './sightings.ts';
import { SqlWriter } from './sql-writer.ts';
import { judge, type Verdict } from './verdict.ts';
import { withClient } from './with-client.ts';

export interface TrialOptions {
  readonly databaseUrl: string;
  readonly installation: Installation;
  readonly seats: readonly Seat[];
}

export interface WritingOptions {
  readonly writers: number;
  readonly seed: number;
  /** Asked before each transaction, with the number of those that its writer has behind it. */
  readonly isEnough: (transactions: number) => boolean;
}

/** Writers with plain SQL on one side, pollers over HTTP on the other, and what the latter lose. */
export class Trial {
  readonly ledger = new Ledger();
  readonly pollers: readonly SeatedPoller[];
  readonly #sightings = new Map<string, Sightings>();
  readonly databaseUrl: string;

  constructor({ databaseUrl, installation, seats }: TrialOptions) {
    this.databaseUrl = databaseUrl;
    this.pollers = seats.map((seat) => {
      const sightings = this.#sightings.get(seat.companyId) ?? new Sightings();
      this.#sightings.set(seat.companyId, sightings);
      return new SeatedPoller(installation, seat, sightings);
    });
  }

  get companyIds(): string[] {
    return [...this.#sightings.keys()];
  }

  get polls(): number {
    return this.pollers.reduce((sum, { polls }) => sum + polls, 0);
  }

  /** What loses leads elsewhere, forced: it does not depend on luck. */
  async interleave(): Promise<void> {
    for (const act of [overtake, commitWhilePollsWait])
      await Promise.all(
        this.companyIds.map((companyId) =>
          act({
            databaseUrl: this.databaseUrl,
            companyId,
            ledger: this.ledger,
            poll: (kind) => this.#pollOnce({ companyId, ...(kind && { kind }) }),
          }),
        ),
      );
  }

  /** All write at random, and whenever a transaction ends, all poll. */
  async write({ writers, seed, isEnough }: WritingOptions): Promise<void> {
    const writing = Promise.all(
      Array.from({ length: writers }, (_, index) => this.#writeAlone(index, seed, isEnough)),
    );
    await this.pollDuring(writing, () => this.ledger.nextEnd());
  }

  /** Everybody polls again and again, and waits in between for what is worth another poll. */
  async pollDuring(work: Promise<unknown>, news = async (): Promise<void> => undefined): Promise<void> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    const polling = this.pollers.map(async (poller) => {
      while (!isOver) {
        await poller.poll();
        await Promise.race([news(), over]);
      }
    });
    await Promise.all([over, ...polling]);
  }

  /**
   * Everybody polls once more. What a client has not got by then it never gets: it lies before what the client
   * remembers.
   */
  async finish(): Promise<Verdict> {
    await this.#pollOnce();
    const { rows } = await withClient(this.databaseUrl, (client) =>
      client.query<{ id: string }>('SELECT id FROM leadtap.leads WHERE company_id = ANY ($1)', [
        this.companyIds,
      ]),
    );
    return judge({
      ledger: this.ledger,
      pollers: this.pollers,
      stored: new Set(rows.map(({ id }) => id)),
      broken: [...this.#sightings.values()].flatMap(({ broken }) => [...broken]),
    });
  }

  async #pollOnce({ companyId, kind }: Partial<Seat> = {}): Promise<void> {
    const pollers = this.pollers.filter(
      ({ seat }) => (companyId ?? seat.companyId) === seat.companyId && (kind ?? seat.kind) === seat.kind,
    );
    await Promise.all(pollers.map((poller) => poller.poll()));
  }

  async #writeAlone(index: number, seed: number, isEnough: WritingOptions['isEnough']): Promise<void> {
    const { companyIds, ledger } = this;
    const writer = new SqlWriter({ url: this.databaseUrl, name: `writer-${index + 1}`, companyIds, ledger });
    const plans = makePlans(seed + index, companyIds.length);
    for (let transactions = 0; !isEnough(transactions); transactions += 1)
      await writer.run(plans.next().value);
    await writer.close();
  }
}
