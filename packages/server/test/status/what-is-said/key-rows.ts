/** Webhooks, keys, and the installation itself. */
import type { Row } from './support/row.ts';
import { startWebhook, switchOff, switchOn, untilFailed, untilSent } from './support/webhooks.ts';
import { HOUR, iso, MINUTE, type World } from './support/world.ts';

/** A webhook that has got a lead, whose receiver answers this from now on, and 3 leads. */
const failing = (status: number) => async (world: World) => {
  const hook = await startWebhook(world, 'CRM');
  world.answer(status);
  await untilFailed(world, () => world.lead(3));
  return hook;
};

export const KEY_ROWS: readonly Row[] = [
  {
    name: '21: the signing key is replaced',
    async history(world) {
      await (await world.form('web')).post({ firstName: 'Ada' });
      await (await world.follower('CRM')).works();
      await world.service.service.connections.flush();
      await world.restart({ LEADTAP_SIGNING_KEY: Buffer.alloc(32, 7).toString('base64') });
    },
    says: {
      web: ['error working 1 added → renew', 'its key is no longer accepted'],
      CRM: ['error working 1 sent → renew', 'its key is no longer accepted'],
    },
  },
  {
    name: '41: a webhook that had worked answers 500, and is removed',
    async history(world) {
      await switchOff(world, (await failing(500)(world)).id);
      await world.wait(HOUR / 4);
    },
    says: { CRM: ['error ended 1 sent 3 waiting → handled', 'its platform deleted it'] },
  },
  {
    name: '41: and it was marked as handled',
    async history(world) {
      await switchOff(world, (await failing(500)(world)).id);
      await world.command('connections handled CRM');
    },
    says: {},
  },
  {
    name: '41: it never got a lead, and is removed',
    async history(world) {
      world.answer(500);
      const { id } = await switchOn(world, 'CRM', await world.token('CRM'));
      await untilFailed(world, () => world.lead());
      await switchOff(world, id);
    },
    says: {},
  },
  {
    name: '41: it answers 500 for an hour',
    async history(world) {
      await failing(500)(world);
      for (let time = 0; time < 3; time += 1) {
        await untilFailed(world, () => world.wait(HOUR));
      }
    },
    says: { CRM: ['error failing 1 sent 3 waiting', 'its receiver refuses them'] },
  },
  {
    name: '42: it answers 410',
    history: failing(410),
    says: { CRM: ['error ended 1 sent 3 waiting → handled', 'its receiver answered 410'] },
  },
  {
    name: '43, 44: it has all, and a lead is moved away and back',
    async history(world) {
      await startWebhook(world, 'CRM');
      await world.lead({ id: 'l1', branchId: 'north' });
      await untilSent(world);
      for (const branchId of ['south', 'north'])
        await world.service.store.writeLeads([{ companyId: 'acme', id: 'l1', branchId, fields: {} }]);
      await world.pass(3 * MINUTE);
    },
    says: { CRM: ['good working 2 sent'] },
  },
  {
    name: '46, 69: a lead is moved to its branch afterwards',
    async history(world) {
      await startWebhook(world, 'North', { user: 'north-lead' });
      await world.lead({ id: 'moved', branchId: 'south' });
      await world.lead({ branchId: 'north' });
      await untilSent(world);
      await world.service.store.writeLeads([
        { companyId: 'acme', id: 'moved', branchId: 'north', fields: {} },
      ]);
      await world.pass(3 * MINUTE);
      await untilSent(world, 3);
    },
    says: { North: ['good working 3 sent'] },
  },
  {
    name: '55: its host is taken off the list',
    async history(world) {
      await startWebhook(world, 'CRM');
      await world.restart({ LEADTAP_HOOK_HOSTS: '' });
      await untilFailed(world, () => world.lead(3));
    },
    says: { CRM: ['warning working 1 sent 3 waiting → allow-host', 'LEADTAP_HOOK_HOSTS'] },
  },
  {
    name: '55: webhooks are switched off',
    async history(world) {
      await startWebhook(world, 'CRM');
      await world.restart({ LEADTAP_HOOKS: 'off' });
      await world.lead(3);
      await world.pass(MINUTE);
    },
    says: { CRM: ['warning working 1 sent 3 waiting', 'LEADTAP_HOOKS'] },
  },
  {
    name: '58: a token is renewed, and the old program polls for an hour more',
    async history(world) {
      const crm = await world.follower('CRM');
      await crm.works();
      const token = (await world.command('token renew CRM')).trim();
      await crm.next(30);
      const headers = { authorization: `Bearer ${token}` };
      const since = iso(world.clock() - MINUTE);
      await fetch(`${world.service.url}/automation/new-leads?since=${since}`, { headers });
    },
    says: { CRM: ['good working'] },
  },
  {
    name: '59: it is switched off and on ten times',
    async history(world) {
      let { id, token } = await startWebhook(world, 'n8n');
      for (let time = 0; time < 10; time += 1) {
        await switchOff(world, id);
        await world.pass(HOUR);
        ({ id } = await switchOn(world, 'n8n', token));
      }
      await world.lead({ branchId: 'north' });
      await untilSent(world);
    },
    says: { n8n: ['good working 2 sent'] },
  },
  {
    name: '61: it is deleted and made again a minute later',
    async history(world) {
      const { token, id } = await failing(500)(world);
      await switchOff(world, id);
      await world.lead();
      world.clock.advance(MINUTE);
      world.answer(200);
      await switchOn(world, 'CRM', token);
      await untilSent(world);
    },
    says: { CRM: ['good working 5 sent'] },
  },
  {
    name: '73: the token of a poller expires, and leads come later',
    async history(world) {
      const crm = await world.follower('CRM', { expiresInMs: HOUR });
      await crm.works();
      await world.pass(HOUR);
      await world.lead(2);
      await crm.next(8);
    },
    says: { CRM: ['error failing 2 waiting → renew', 'its key has expired'] },
  },
  {
    name: '74: one that fails is marked as handled while 3 wait',
    async history(world) {
      await failing(500)(world);
      await world.command('connections handled CRM');
      world.answer(200);
      world.clock.advance(HOUR);
      await untilSent(world);
    },
    says: { CRM: ['good working 4 sent'] },
  },
];
