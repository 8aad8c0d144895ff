/** The ways in which automation platforms go on from one poll to the next. */

export interface Answer {
  readonly leads: readonly { readonly id: string; readonly createdAt: number }[];
  /** The `Date` of the answer, which has whole seconds. */
  readonly date: number;
}

export interface RevalidationRequest {
  readonly since?: number;
  readonly limit: number;
}

export type Ask = (question: RevalidationRequest) => Promise<Answer>;

export const toWholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

export abstract class Poller {
  readonly #ask: Ask;
  readonly limit: number;
  readonly received = new Set<string>();
  /** The ids that came more than once. */
  readonly repeated = new Set<string>();

  constructor(ask: Ask, limit: number) {
    this.#ask = ask;
    this.limit = limit;
  }

  /** One round of an automation: everything that is new. */
  abstract poll(): Promise<void>;

  /** For a lead that was erased. */
  forget(id: string): void {
    this.received.delete(id);
    this.repeated.delete(id);
  }

  lost(written: Iterable<string>): string[] {
    return [...written].filter((id) => !this.received.has(id));
  }

  protected receive(leads: Answer['leads']): void {
    for (const { id } of leads) {
      if (this.received.has(id)) this.repeated.add(id);
      this.received.add(id);
    }
  }

  protected async ask(since?: number): Promise<Answer> {
    const answer = await this.#ask({ limit: this.limit, ...(since !== undefined && { since }) });
    this.receive(answer.leads);
    return answer;
  }

  /** Asks from a time on, page after page, and gives the last answer, whose page was not full. */
  protected async askOn(since: number): Promise<{ readonly answer: Answer; readonly last: number }> {
    for (let last = since; ; ) {
      const answer = await this.ask(last);
      const next = answer.leads.at(-1)?.createdAt ?? last;
      if (answer.leads.length < this.limit) return { answer, last: next };
      if (next <= last) throw new Error('a full page that leads nowhere would be asked for ever');
      last = next;
    }
  }
}

/** Workato, Activepieces, and clients that follow the Link: from the last lead. */
export class RemembersLastLead extends Poller {
  #since = 0;

  async poll(): Promise<void> {
    this.#since = (await this.askOn(this.#since)).last;
  }
}

/** n8n's usual way: from the time of the last poll. Some leads come again, and are told apart by their id. */
export class RemembersDate extends Poller {
  #since = 0;

  async poll(): Promise<void> {
    this.#since = (await this.askOn(this.#since)).answer.date;
  }
}

/** Zapier: one page, newest first, every time; a table of ids shows what is new. */
export class RemembersIds extends Poller {
  async poll(): Promise<void> {
    await this.ask();
  }
}
