import type { Lead } from '@leadtap/contract';
import type { Organisation } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { FixtureProcess } from '../store/fixture-process.ts';
import { type Ask, Poller, RemembersDate, RemembersIds, RemembersLastLead } from './pollers.ts';

const LEADS_OF_EACH = 200;
/** A page newest first holds 100 leads; more than that between two polls is more than its followers can see. */
const MOST_UNSEEN = 90;
/** Below the 100 a minute that a user may ask. */
const POLLS_OF_A_USER = 90;

const userId = (index: number) => `poller-${index}`;

/** Users enough that no limit is reached, however fast the machine is. */
const ORGANISATION: Organisation = {
  companies: [
    {
      id: 'acme',
      name: 'Acme',
      branches: [],
      users: Array.from({ length: 1000 }, (_, index) => ({
        id: userId(index),
        email: null,
        name: null,
        plan: 'PROFESSIONAL',
        accessLevel: 'COMPANY',
        branchId: null,
        departmentId: null,
      })),
    },
  ],
};

/** Asks a path of the service as one user after the other. */
function makeFetch({ url, token }: TestService): (query: string) => Promise<Response> {
  let polls = 0;
  let current = token(userId(0));
  return async (query) => {
    polls += 1;
    if (polls % POLLS_OF_A_USER === 0) current = token(userId(polls / POLLS_OF_A_USER));
    const headers = { authorization: `Bearer ${await current}` };
    const response = await fetch(`${url}/automation/new-leads?${query}`, { headers });
    expect(response.status).toBe(200);
    return response;
  };
}

const readLeads = async (response: Response) =>
  ((await response.json()) as Lead[]).map(({ id, createdAt }) => ({ id, createdAt: Date.parse(createdAt) }));

const asking =
  (get: (query: string) => Promise<Response>): Ask =>
  async ({ since, limit }) => {
    const from = since === undefined ? '' : `since=${new Date(since).toISOString()}&`;
    const response = await get(`${from}limit=${limit}`);
    return { leads: await readLeads(response), date: Date.parse(response.headers.get('date') ?? '') };
  };

/** Node-RED: the next address is the one that the answer names. */
class FollowsLink extends Poller {
  readonly #get: (query: string) => Promise<Response>;
  #query = 'since=1970-01-01&limit=100';

  constructor(get: (query: string) => Promise<Response>, ask: Ask) {
    super(ask, 100);
    this.#get = get;
  }

  async poll(): Promise<void> {
    const response = await this.#get(this.#query);
    this.receive(await readLeads(response));
    const next = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    this.#query = new URL(next ?? '').search.slice(1);
  }
}

/** Writes in small batches, as fast as the file takes them, while there is room. */
async function write(writer: FixtureProcess, reserve: (leads: number) => Promise<void>): Promise<void> {
  for (let written = 0, size = 1; written < LEADS_OF_EACH; size = (size % 5) + 1) {
    const leads = Math.min(size, LEADS_OF_EACH - written);
    await reserve(leads);
    writer.send(String(leads));
    expect(await writer.receive()).toBe('committed');
    written += leads;
  }
  await writer.end();
}

describe('two processes write and one serves', () => {
  it('no client loses a lead, and those who go on from the last lead get each once', async () => {
    const service = await startService({ organisation: ORGANISATION });
    const get = makeFetch(service);
    const ask = asking(get);
    const pollers = {
      lastLead: new RemembersLastLead(ask, 100),
      link: new FollowsLink(get, ask),
      date: new RemembersDate(ask, 100),
      ids: new RemembersIds(ask, 100),
    };

    let reserved = 0;
    const reserve = async (leads: number) => {
      reserved += leads;
      while (reserved - pollers.ids.received.size > MOST_UNSEEN) await pollers.ids.poll();
    };
    const script = new URL('fixtures/write-leads.js', import.meta.url);
    const names = ['one', 'two'];
    let writing = true;
    const work = Promise.all(
      names.map((name) => write(new FixtureProcess(script, service.database.url, name), reserve)),
    ).finally(() => {
      writing = false;
    });
    const polling = Object.values(pollers).map(async (poller) => {
      while (writing) await poller.poll();
      for (let last = 0; last < 3; last += 1) await poller.poll();
    });
    await Promise.all([work, ...polling]);

    const written = names.flatMap((name) =>
      Array.from({ length: LEADS_OF_EACH }, (_, index) => `${name}-${index}`),
    );
    const lost = Object.entries(pollers).map(([name, poller]) => [name, poller.lost(written)]);
    expect(Object.fromEntries(lost)).toEqual({ lastLead: [], link: [], date: [], ids: [] });
    expect(pollers.lastLead.repeated).toEqual(new Set());
    expect(pollers.link.repeated).toEqual(new Set());
  });
});
