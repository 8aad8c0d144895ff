import type { Lead } from '@leadtap/contract';
import { type Answer, type Ask, Poller, RemembersDate, RemembersLastLead } from '../pollers.ts';
import { Caller, type Installation } from './callers.ts';
import type { WrittenLead } from './ledger.ts';
import { type Seat, sees } from './seats.ts';
import type { Sightings } from './sightings.ts';

const PAGE = 100;

type Get = (query: string) => Promise<Response>;
type Read = (response: Response) => Promise<Answer>;

const asking =
  (get: Get, read: Read): Ask =>
  async ({ since, limit }) => {
    const from = since === undefined ? '' : `since=${new Date(since).toISOString()}&`;
    return read(await get(`${from}limit=${limit}`));
  };

/** Node-RED, and whoever goes where the answer sends them. */
class FollowsLink extends Poller {
  readonly #get: Get;
  readonly #read: Read;
  #query = `since=1970-01-01&limit=${PAGE}`;

  constructor(get: Get, read: Read) {
    super(asking(get, read), PAGE);
    this.#get = get;
    this.#read = read;
  }

  async poll(): Promise<void> {
    for (let isFull = true; isFull; ) {
      const response = await this.#get(this.#query);
      const { leads } = await this.#read(response);
      this.receive(leads);
      const next = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
      this.#query = new URL(next ?? '').search.slice(1);
      isFull = leads.length === PAGE;
    }
  }
}

const MAKE: Record<Seat['kind'], (get: Get, read: Read) => Poller> = {
  lastLead: (get, read) => new RemembersLastLead(asking(get, read), PAGE),
  date: (get, read) => new RemembersDate(asking(get, read), PAGE),
  link: (get, read) => new FollowsLink(get, read),
};

/** A poller in its seat, over HTTP. */
export class SeatedPoller {
  readonly seat: Seat;
  readonly #caller: Caller;
  readonly #poller: Poller;

  constructor(installation: Installation, seat: Seat, sightings: Sightings) {
    this.seat = seat;
    this.#caller = new Caller(installation, seat.userIds);
    this.#poller = MAKE[seat.kind](
      (query) => this.#caller.get(query),
      async (response) => {
        const leads = (await response.json()) as Lead[];
        sightings.see(leads);
        return {
          leads: leads.map(({ id, createdAt }) => ({ id, createdAt: Date.parse(createdAt) })),
          date: Date.parse(response.headers.get('date') ?? ''),
        };
      },
    );
  }

  get polls(): number {
    return this.#caller.polls;
  }

  get received(): ReadonlySet<string> {
    return this.#poller.received;
  }

  get repeated(): ReadonlySet<string> {
    return this.#poller.repeated;
  }

  /** One round of an automation: everything that is new, up to a page that is not full. */
  poll(): Promise<void> {
    return this.#poller.poll();
  }

  lost(committed: ReadonlyMap<string, WrittenLead>): string[] {
    const mine = [...committed.values()].filter((lead) => sees(this.seat, lead));
    return this.#poller.lost(mine.map(({ id }) => id));
  }

  /** What it should never have seen: not committed, or not within what it may see. */
  strange(committed: ReadonlyMap<string, WrittenLead>): string[] {
    return [...this.received].filter((id) => {
      const lead = committed.get(id);
      return lead === undefined || !sees(this.seat, lead);
    });
  }
}
