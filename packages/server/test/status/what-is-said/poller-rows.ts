/** Automations that poll. */
import type { Row } from './support/row.ts';
import { DAY, HOUR, iso, MINUTE, type World } from './support/world.ts';

const YEAR = 365 * DAY;

/** A poller that follows `Link` and has worked, and so many leads that it did not get. */
const working =
  (leads: number, name = 'CRM') =>
  async (world: World) => {
    const poller = await world.follower(name);
    await poller.works();
    await world.lead(leads);
    return poller;
  };
export const POLLER_ROWS: readonly Row[] = [
  {
    name: '24: Slack has all, 3 wait for the CRM',
    async history(world) {
      const slack = await working(0, 'Slack')(world);
      await working(3)(world);
      await slack.next(2, MINUTE);
    },
    says: {
      Slack: ['good working 3 sent'],
      CRM: ['good working 3 waiting', '3 wait, safe'],
    },
    sentence: 'Slack has all. CRM: 0 sent, 3 wait, safe.',
  },
  {
    name: '24: they wait for longer than three pauses',
    async history(world) {
      await working(3)(world);
      await world.pass(12 * MINUTE);
    },
    says: { CRM: ['warning working 3 waiting', 'the first since'] },
  },
  {
    name: '25: its token is revoked while 3 wait',
    async history(world) {
      await working(3)(world);
      await world.command('token revoke CRM');
      await world.pass(HOUR);
    },
    says: {
      CRM: ['error ended 3 waiting → handled', 'its key was revoked'],
    },
  },
  {
    name: '26, 28: and a new token of another name polls from now, or once without since',
    async history(world) {
      await working(3)(world);
      await world.command('token revoke CRM');
      await world.pass(MINUTE);
      await (await world.follower('Zapier')).works();
      await (await world.poller('Make')).ask();
      await world.pass(HOUR / 6);
    },
    says: {
      CRM: ['error ended 3 waiting → handled'],
      Zapier: ['good working'],
      Make: ['unknown new → handled'],
    },
  },
  {
    name: '27: and a new token of the same name polls with the old since',
    async history(world) {
      const at = world.clock();
      await working(3)(world);
      await world.command('token revoke CRM');
      await (await world.follower('CRM', { id: 'CRM-2' })).ask(`since=${iso(at)}`);
      await world.pass(MINUTE);
    },
    says: { CRM: ['good working 3 sent'] },
  },
  {
    name: '29: no automation, 4 enquiries',
    async history(world) {
      await world.lead(4);
      await world.pass(20 * MINUTE);
    },
    says: { unassigned: ['warning new 4 waiting → connect', 'that no automation gets'] },
  },
  {
    name: '30: and a person tries the poll once',
    async history(world) {
      await world.lead(4);
      await world.pass(20 * MINUTE);
      await (await world.follower('curl')).ask();
    },
    says: {
      curl: ['unknown new → handled'],
      unassigned: ['warning new 4 waiting → connect'],
    },
  },
  {
    name: '30: and revokes the token',
    async history(world) {
      await (await world.follower('curl')).next();
      await world.lead(2);
      await world.command('token revoke curl');
    },
    says: {},
  },
  {
    name: '30: and does not, and leads wait for it a day later',
    async history(world) {
      await (await world.follower('curl')).next();
      await world.lead(2);
      await world.pass(DAY + HOUR);
    },
    says: {
      curl: ['warning new 2 waiting → handled'],
      unassigned: ['warning new 2 waiting → connect'],
    },
  },
  {
    name: '31: a since of next year',
    async history(world) {
      await (await world.poller('CRM')).ask(`since=${iso(world.clock() + YEAR)}`);
      await world.lead();
      await world.pass(MINUTE);
    },
    says: { CRM: ['error new → handled', 'asks for leads after'] },
  },
  {
    name: '33: a burst of 130 for one without since',
    async history(world) {
      const zapier = await world.poller('Zapier');
      await zapier.works();
      await world.lead(130);
      await zapier.next(4);
    },
    says: { Zapier: ['good working 130 sent'] },
  },
  {
    name: '34: limit 1, 3 leads between two polls',
    async history(world) {
      const zapier = await world.poller('Zapier');
      for (let poll = 0; poll < 11; poll += 1) {
        await zapier.ask('limit=1');
        await world.pass(2 * MINUTE);
      }
      await world.lead(3);
      for (let poll = 0; poll < 6; poll += 1) {
        await zapier.ask('limit=1');
        await world.pass(2 * MINUTE);
      }
    },
    says: { Zapier: ['good working 3 sent'] },
  },
  {
    name: '35: a person edits the Zap during a burst',
    async history(world) {
      const zapier = await world.poller('Zapier');
      await zapier.works();
      await world.lead(130);
      for (const limit of [3, 100]) await zapier.ask(`limit=${limit}`);
      await zapier.next(5);
    },
    says: { Zapier: ['good working 130 sent'] },
  },
  {
    name: '36: one with its own clock, 5 minutes ahead',
    async history(world) {
      const own = await world.poller('Own');
      for (let poll = 0; poll < 12; poll += 1) {
        await own.ask(`since=${iso(world.clock() + 5 * MINUTE)}`);
        if (poll > 9) await world.lead(3);
        await world.pass(2 * MINUTE);
      }
    },
    says: { Own: ['error working 3 waiting 3 missed → handled', 'asks for leads after'] },
  },
  {
    name: '37: the same since for ever',
    async history(world) {
      const at = iso(world.clock());
      const crm = await world.follower('CRM');
      await crm.works();
      await world.lead(120);
      for (let poll = 0; poll < 7; poll += 1) {
        await crm.ask(`since=${at}`);
        await world.pass(2 * MINUTE);
      }
    },
    says: { CRM: ['error failing 100 sent 20 waiting', 'the same leads again and again'] },
  },
  ...[40 * MINUTE, DAY].map(
    (silentMs): Row => ({
      name: `38: one of two is switched off for ${silentMs / MINUTE} minutes, with our own downtime in between`,
      async history(world) {
        await working(3)(world);
        await world.restart({}, 5 * MINUTE);
        await world.pass(silentMs);
      },
      says: { CRM: ['error silent 3 waiting → handled', 'silent since'] },
    }),
  ),
  {
    name: '38: our own downtime is not its silence',
    async history(world) {
      await working(0)(world);
      await world.restart({}, 3 * HOUR);
    },
    says: { CRM: ['good working'] },
  },
  ...(
    [
      [HOUR, 'unknown', {}],
      [2 * HOUR, 'unknown', {}],
      [3 * DAY, 'warning', { unassigned: ['warning new 4 waiting → connect'] }],
    ] as const
  ).map(
    ([ms, level, others]): Row => ({
      name: `39: it polled twice, and 4 wait for ${ms / HOUR} hours`,
      async history(world) {
        await (await world.follower('Zapier')).next(2);
        await world.lead(4);
        await world.pass(ms);
      },
      says: {
        Zapier: [`${level} new 4 waiting → handled`],
        ...others,
      },
    }),
  ),
  {
    name: '40: a silent one is marked as handled',
    async history(world) {
      await working(3)(world);
      await world.pass(DAY);
      await world.command('connections handled CRM');
      await world.pass(HOUR);
    },
    says: {},
  },
  {
    name: '40: and polls again weeks later',
    async history(world) {
      const crm = await working(3)(world);
      await world.pass(DAY);
      await world.command('connections handled CRM');
      await world.pass(21 * DAY);
      await crm.ask(`since=${iso(world.clock())}`);
    },
    says: { CRM: ['good working'] },
  },
  {
    name: '45, 69: leads are moved behind its position',
    async history(world) {
      const north = await world.follower('North', { user: 'north-lead' });
      await north.works();
      await world.lead({ id: 'moved', branchId: 'south' });
      await world.lead({ branchId: 'north' });
      await north.next(2);
      await world.service.store.writeLeads([
        { companyId: 'acme', id: 'moved', branchId: 'north', fields: {} },
      ]);
      await north.next(2);
    },
    says: { North: ['warning working 1 sent 1 missed → handled', 'assigned to it too late'] },
  },
  {
    name: '47: a lead of another branch, and its user sees all later',
    async history(world) {
      const north = await world.follower('North', { user: 'north-lead' });
      await north.works();
      await world.lead({ branchId: 'south' });
      await world.lead({ branchId: 'north' });
      await north.next(11);
      await world.command('user set north-lead --access-level COMPANY');
      await north.next(11);
    },
    says: { North: ['good working 1 sent'], unassigned: ['warning new 1 waiting → connect'] },
  },
  {
    name: '49, 71: a history is imported after the first poll',
    async history(world) {
      const crm = await world.follower('CRM');
      await crm.next();
      const createdAt = world.clock() - DAY;
      await world.service.store.writeLeads([{ companyId: 'acme', createdAt, fields: {} }], {
        historical: true,
      });
      await crm.works();
    },
    says: { CRM: ['good working'] },
  },
  {
    name: '53: a waiting lead is erased',
    async history(world) {
      await working(0)(world);
      await world.lead({ id: 'l1' });
      await world.command('leads erase l1 --yes');
    },
    says: { CRM: ['good working'] },
  },
  {
    name: '54: 4 unassigned, then an automation starts from now; day 31',
    async history(world) {
      await world.lead(4);
      await world.pass(20 * MINUTE);
      await world.pass(31 * DAY);
      await (await world.follower('CRM')).works();
    },
    says: { CRM: ['good working'], unassigned: ['warning new 4 waiting → connect'] },
  },
  {
    name: '56: the clock is set back',
    async history(world) {
      const crm = await working(1)(world);
      await crm.next();
      world.clock.advance(-2 * HOUR);
      await world.lead(2);
      await world.pass(MINUTE);
    },
    says: { CRM: ['good working 1 sent 2 waiting'] },
    problems: ['stamps-ahead'],
  },
  {
    name: '57: a silent one is switched on again, as the page says',
    async history(world) {
      const crm = await working(3)(world);
      await world.pass(DAY);
      await crm.next(2);
    },
    says: { CRM: ['good working 3 sent'] },
  },
  {
    name: '60: leads that wait are pruned',
    async history(world) {
      await working(2)(world);
      await world.pass(3 * DAY);
      await world.command('leads prune --older-than 2d --yes');
    },
    says: { CRM: ['error silent → handled', '2 deleted by age before'] },
  },
  {
    name: '63: one that polls every 15 minutes is not heard for 40',
    async history(world) {
      await (await world.follower('CRM')).next(11, 15 * MINUTE);
      await world.pass(25 * MINUTE);
    },
    says: { CRM: ['good working'] },
  },
  {
    name: '66: a second token of the same name is never used',
    async history(world) {
      const crm = await working(0)(world);
      await world.command('token issue --user boss --name CRM');
      await crm.next(3);
    },
    says: { CRM: ['good working'] },
  },
  {
    name: '67: one looks back an hour each time',
    async history(world) {
      const crm = await world.poller('CRM');
      for (let poll = 0; poll < 14; poll += 1) {
        if (poll % 4 === 0) await world.lead(2);
        await crm.ask(`since=${iso(world.clock() - HOUR)}`);
        await world.pass(2 * MINUTE);
      }
    },
    says: { CRM: ['good working 8 sent'] },
  },
  {
    name: '68: it is narrowed to a branch while 4 wait',
    async history(world) {
      await world.command('user set north-lead --access-level COMPANY');
      const crm = await world.follower('CRM', { user: 'north-lead' });
      await crm.works();
      await world.lead(4);
      await world.command('user set north-lead --access-level BRANCH --branch north');
      await world.pass(3 * MINUTE);
    },
    says: { CRM: ['warning working 4 missed → handled', 'may not see them any more'] },
  },
  {
    name: '70: nothing connected',
    history: async () => undefined,
    says: {},
    sentence: 'Nothing is connected',
  },
  {
    name: '71: 20 old leads, a poller without since, 500 old contacts',
    async history(world) {
      await world.lead(20);
      const zapier = await world.poller('Zapier');
      await zapier.works();
      const times = Array.from({ length: 500 }, (_, index) => world.clock() - DAY + index);
      await world.service.store.writeLeads(
        times.map((createdAt) => ({ companyId: 'acme', createdAt, fields: {} })),
        { historical: true },
      );
      await zapier.next(3);
    },
    says: { Zapier: ['good working'], unassigned: ['warning new 20 waiting → connect'] },
  },
  {
    name: '72: a person polls once with the token of a working automation',
    async history(world) {
      const crm = await working(2)(world);
      await crm.ask(`since=${iso(world.clock() + MINUTE)}&limit=3`);
      await crm.ask('limit=1');
      await world.pass(MINUTE);
    },
    says: { CRM: ['good working 2 waiting'] },
  },
];
