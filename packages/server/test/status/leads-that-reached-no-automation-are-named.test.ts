/** The sentence at the top counts leads: each one of the last 30 days has reached an automation, or is counted with the reason. */
import type { Consumers, Lead } from '@leadtap/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { iso } from '../consumers/support/consumers.ts';
import { addClient, readStatus, writePolls } from './support/status.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 86_400_000;

interface World {
  readonly clock: ManualClock;
  readonly service: TestService;
  /** A client that polls as usual, from where it was; `since` is its first. */
  client(name: string, userId: string, since?: number): Promise<() => Promise<void>>;
  /** Gets all leads that the client waits for, page by page. */
  getAll(name: string, userId: string, since?: number): Promise<void>;
}

async function start(organisation = ORGANISATION): Promise<World> {
  const clock = manualClock();
  const service = await startService({ clock, organisation });
  return {
    clock,
    service,
    async client(name, userId, since = clock()) {
      const poll = await addClient(service, userId, name, name);
      let position = since;
      const next = async () => {
        await poll(`since=${iso(position)}`);
        position = clock();
        await writePolls(service);
      };
      for (let count = 0; count < 6; count += 1) {
        if (count > 0) clock.advance(2 * MINUTE_MS);
        await next();
      }
      clock.advance(MINUTE_MS);
      return next;
    },
    async getAll(name, userId, start = clock() - HOUR_MS) {
      const authorization = `Bearer ${await service.token(userId, { tokenId: name, expiresInMs: 30 * DAY_MS })}`;
      let since = iso(start);
      for (let leads: Lead[] = []; ; since = leads.at(-1)?.createdAt ?? since) {
        const url = `${service.url}/automation/new-leads?limit=100&since=${since}`;
        leads = (await (await fetch(url, { headers: { authorization } })).json()) as Lead[];
        if (leads.length === 0) break;
      }
      await writePolls(service);
    },
  };
}

const some = (count: number, fields: object = {}): object[] => Array.from({ length: count }, () => fields);

interface Row {
  readonly name: string;
  arrange(world: World): Promise<unknown>;
  /** The beginning of the sentence at the top, or the message of `leads-unseen`. */
  readonly says: string;
  /** Default: green. */
  readonly isUnseen?: true;
  readonly isGrey?: true;
  readonly fix?: string;
}

const ROWS: readonly Row[] = [
  {
    name: 'no lead',
    arrange: ({ client }) => client('make', 'boss'),
    says: 'No lead yet. The only consumer polls as usual.',
  },
  {
    name: 'one lead, delivered',
    async arrange({ service, client }) {
      const next = await client('make', 'boss');
      await service.add({});
      await next();
    },
    says: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
  },
  {
    name: 'three leads, of which two wait',
    async arrange({ service, client }) {
      const next = await client('make', 'boss');
      await service.add({});
      await next();
      await service.add({}, {});
    },
    says: '1 of 3 leads since Monday reached an automation. 2 wait for make. No lead waits longer than usual.',
  },
  {
    name: 'each lead reached one of two automations',
    async arrange({ service, client }) {
      const next = await client('south', 'boss');
      await client('north', 'north-lead');
      await service.add({}, { branchId: 'north' });
      await next();
    },
    says: 'All 2 leads since Monday reached an automation. No lead waits longer than usual. All 2 consumers poll as usual.',
  },
  {
    name: 'leads of three weeks, the last of today',
    async arrange({ clock, service, client }) {
      const next = await client('make', 'boss');
      await service.add({});
      clock.advance(20 * DAY_MS);
      await service.add({});
      for (let count = 0; count < 3; count += 1) await next();
    },
    says: 'All 2 leads of the last 30 days reached an automation.',
  },
  {
    name: 'leads of a month ago are not counted, and those from before the automation apart',
    async arrange({ clock, service, client }) {
      await service.add({}, {}, {});
      clock.advance(30 * DAY_MS);
      await service.add({}, {});
      clock.advance(1000);
      const next = await client('make', 'boss');
      await service.add({});
      await next();
    },
    isGrey: true,
    says: '1 lead since Wednesday reached an automation. 2 came in before an automation was connected. The only',
  },
  {
    name: 'imported history is not delivered, and not counted',
    async arrange({ clock, service, client }) {
      const next = await client('make', 'boss');
      const old = Array.from({ length: 5 }, (_, day) => ({ createdAt: clock() - (day + 1) * DAY_MS }));
      await service.store.writeLeads(
        old.map((lead) => ({ ...lead, companyId: 'globex', fields: {} })),
        { historical: true },
      );
      await next();
    },
    says: 'No new lead of the last 30 days is stored. The only consumer polls as usual.',
  },
  {
    name: 'more than a thousand leads',
    async arrange({ service, client }) {
      const next = await client('make', 'boss');
      await service.add(...Array.from({ length: 1100 }, () => ({})));
      for (let page = 0; page < 12; page += 1) {
        await next();
      }
    },
    isGrey: true,
    says: '1,000+ leads of the last 30 days wait for make. No lead waits longer than usual.',
  },
  {
    name: 'six thousand leads, and none was fetched',
    async arrange({ clock, service }) {
      const poll = await addClient(service, 'boss', 'zap', 'zap');
      await poll('');
      await writePolls(service);
      clock.advance(1000);
      for (let batch = 0; batch < 6; batch += 1) await service.add(...some(1000));
      await service.add({}, {});
    },
    isGrey: true,
    says: '1,000+ leads of the last 30 days wait for zap. No lead waits longer than usual.',
  },
  {
    name: 'more than a thousand leads, of which the last ones wait',
    async arrange({ service, client, getAll }) {
      await client('make', 'boss');
      await service.add(...some(1200));
      await getAll('make', 'boss');
      await service.add({}, {});
    },
    says: 'All but 2 of 1,000+ leads of the last 30 days reached an automation. 2 wait for make.',
  },
  {
    name: 'more than a thousand leads came in before the automation was connected, and a few after',
    async arrange({ clock, service, client }) {
      await service.add(...some(1200));
      clock.advance(MINUTE_MS);
      const next = await client('make', 'boss');
      await service.add({}, {}, {});
      await next();
    },
    isGrey: true,
    says: '1,000+ leads of the last 30 days came in before an automation was connected. The only consumer',
  },
  {
    name: 'hundreds of leads came in before the automation was connected, and many after',
    async arrange({ clock, service, client, getAll }) {
      await service.add(...some(600));
      clock.advance(MINUTE_MS);
      const start = clock();
      await client('make', 'boss');
      await service.add(...some(600));
      await getAll('make', 'boss', start);
    },
    isGrey: true,
    says: 'All but 600 of 1,000+ leads of the last 30 days reached an automation. 600 came in before an automation was connected.',
  },
  {
    name: 'more than a thousand leads wait, and more than a thousand are seen by no automation',
    async arrange({ service, client }) {
      await client('north', 'north-lead');
      await service.add(...some(1100, { branchId: 'north' }), ...some(1100, { branchId: 'south' }));
    },
    isUnseen: true,
    says: '1,000+ leads since 31 Jan: no automation may see branch South of Acme.',
  },
  {
    name: 'not all leads without a branch can be counted',
    async arrange({ service, client, getAll }) {
      await client('north', 'north-lead');
      await service.add(...some(1200, { branchId: 'north' }));
      await getAll('north', 'north-lead');
      await service.add({ branchId: 'north' });
    },
    says: 'At least 999 leads of the last 30 days reached an automation. 1 waits for north.',
  },
  {
    name: 'a company without an automation, beside one that has one',
    async arrange({ service, client }) {
      const next = await client('make', 'boss');
      await service.add({}, ...Array.from({ length: 5 }, () => ({ companyId: 'globex' })));
      await next();
    },
    isUnseen: true,
    says: '5 leads since Monday: no automation of Globex.',
    fix: 'Connect an automation with a token of a user who may see them: `leadtap token issue --user rival`. Let it poll first with `since=2026-03-02T09:41:00.000Z`: this returns them.',
  },
  {
    name: 'a branch that no automation may see, and leads without a branch',
    async arrange({ service, client }) {
      const next = await client('north', 'north-lead');
      const south = { branchId: 'south' };
      await service.add({ branchId: 'north' }, ...Array.from({ length: 9 }, () => south), {}, {});
      await next();
    },
    isUnseen: true,
    says: '9 leads since Monday: no automation may see branch South of Acme. 2 leads since Monday: no automation may see leads of Acme without a branch.',
    fix: 'Connect an automation with a token of a user who may see them: `leadtap token issue --user boss`. Let',
  },
  {
    name: 'departments of a branch, of which an automation may see one',
    async arrange({ service, client }) {
      const next = await client('sales', 'seller');
      const [sales, service_] = [{ departmentId: 'sales' }, { departmentId: 'service' }];
      await service.add(sales, service_, service_, { branchId: 'north' });
      await next();
    },
    isUnseen: true,
    says: '2 leads since Monday: no automation may see department Service of Acme. 1 lead since Monday: no automation may see leads without a department of branch North of Acme.',
  },
  {
    name: 'an automation whose token was revoked had what came before',
    async arrange({ service, client }) {
      const next = await client('make', 'boss');
      await service.add({}, {});
      await next();
      await service.store.revokeToken('make');
      await service.add({}, {}, {});
    },
    isUnseen: true,
    says: '3 leads since Monday: no automation of Acme.',
  },
  {
    name: 'leads that came between two automations',
    async arrange({ clock, service, client }) {
      const next = await client('make', 'boss');
      await service.add({}, {});
      await next();
      await service.store.revokeToken('make');
      clock.advance(MINUTE_MS);
      await service.add({}, {}, {});
      clock.advance(MINUTE_MS);
      await client('zapier', 'boss');
    },
    isUnseen: true,
    says: '3 leads since Monday came in while no automation could see leads of Acme.',
    fix: 'An automation may see them now. Let it poll first with `since=2026-03-02T09:42:00.000Z`: this returns them.',
  },
  {
    name: 'a token that was tried once, days ago, is no automation',
    async arrange({ clock, service }) {
      const poll = await addClient(service, 'boss', 'curl', 'curl');
      await poll(`since=${iso(clock())}`);
      await writePolls(service);
      clock.advance(1000);
      await service.add({});
      clock.advance(3 * DAY_MS);
    },
    isUnseen: true,
    says: '1 lead since Monday: curl alone may see leads of Acme, and does not poll any more.',
  },
];

describe('leads of the last 30 days', () => {
  it.each(ROWS)('$name: $says', async ({ arrange, says, isUnseen, isGrey, fix }) => {
    const world = await start();
    await arrange(world);
    const { problems, good, summary, healthy } = await readStatus(world.service);
    expect(healthy).toBe(true);
    expect(problems.map(({ kind }) => kind)).toEqual(isUnseen ? ['leads-unseen'] : []);
    expect(good !== null, 'green').toBe(!isUnseen && !isGrey);
    expect(summary.slice(0, says.length)).toBe(says);
    if (fix) expect(problems[0]?.fix.slice(0, fix.length)).toBe(fix);
  });

  it('a user reads of the own leads and automations alone', async () => {
    const world = await start();
    const { service, client } = world;
    const next = await client('north', 'north-lead');
    await service.add({ branchId: 'north' }, { branchId: 'north' }, { branchId: 'south' }, {});
    const read = async () => {
      const headers = {
        authorization: `Bearer ${await service.token('north-lead', { tokenId: 'console' })}`,
      };
      const response = await fetch(`${service.url}/automation/consumers`, { headers });
      return ((await response.json()) as Consumers).summary;
    };
    expect(await read()).toEqual({
      level: 'good',
      message:
        '0 of 2 leads since Monday that your automations may see reached one of them. 2 wait for north. No lead waits longer than usual. The only consumer polls as usual.',
    });
    await next();
    expect(await read()).toEqual({
      level: 'good',
      message:
        'All 2 leads since Monday that your automations may see reached one of them. The only consumer polls as usual.',
    });
  });

  it('names of places cannot change the sentence, and commands are not made of them', async () => {
    const [acme] = ORGANISATION.companies;
    const evil = { id: 'a`b', name: '`rm -rf`\n\u202eevil', departments: [] };
    const { service } = await start({
      companies: [{ ...acme, id: 'x`y', name: 'Acme `x`', branches: [evil], users: [] }],
    });
    await service.add({ companyId: 'x`y', branchId: 'a`b' });
    const { problems } = await readStatus(service);
    expect(problems[0]?.message).toBe("1 lead since Monday: no automation of Acme 'x'.");
    expect(problems[0]?.fix).toContain(
      '`leadtap user add ID --company ID --plan PROFESSIONAL --access-level COMPANY`',
    );
  });

  it('are not green while they cannot be counted', async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const { service, client } = await start();
    await client('make', 'boss');
    await service.add({ companyId: 'globex' });
    vi.spyOn(service.store, 'countLeadsInRanges').mockRejectedValue(new Error('canceled'));
    const { good, summary, healthy, problems } = await readStatus(service);
    expect({ good, summary, healthy, problems }).toEqual({
      ...{ good: null, healthy: null, problems: [] },
      summary: 'No problem was found. The leads of the last 30 days are not counted yet.',
    });
  });
});
