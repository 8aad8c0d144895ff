/** Requests that send leads and are refused, and parts of the service that are switched off. */
import { hash } from 'node:crypto';
import { expect } from 'vitest';
import type { Situation } from './situations.ts';
import { DAY_MS, HOUR_MS, type World } from './world.ts';

const formOf = (world: World, name = 'form'): Promise<string> =>
  world.token(name, 'boss', { scopes: ['leads:write'] });

const postText = async (world: World, body: string): Promise<number> => {
  const headers = { authorization: `Bearer ${await formOf(world)}`, 'content-type': 'application/json' };
  return (await fetch(`${world.service.url}/leads`, { method: 'POST', headers, body })).status;
};

const postRefused = async (world: World, vorname = 'Ada'): Promise<void> =>
  expect((await world.post([{ vorname }], await formOf(world))).status).toBe(422);

const postAccepted = async (world: World): Promise<void> =>
  expect((await world.post([{ firstName: 'Ben' }], await formOf(world))).status).toBe(201);

/** All have the id of the form. */
const postToAddress = async (world: World): Promise<number> => {
  const address = `${world.service.url}/leads?access_token=${await formOf(world)}`;
  const headers = { 'content-type': 'application/json' };
  return (await fetch(address, { method: 'POST', headers, body: '{"firstName":"Ada"}' })).status;
};

const request = async (world: World, method: string, path: string, token?: string): Promise<number> => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(`${world.service.url}${path}`, { method, headers })).status;
};

const UNIDENTIFIED: readonly {
  readonly what: string;
  readonly code: string;
  readonly send: (world: World, token: string) => Promise<number>;
}[] = [
  {
    what: 'a slash at the end of the address',
    code: '404 no-such-resource',
    send: (world, token) => request(world, 'POST', '/leads/', token),
  },
  {
    what: 'the address of another endpoint',
    code: '405 method-not-allowed',
    send: (world, token) => request(world, 'POST', `/automation/leads?access_token=${token}`),
  },
  {
    what: 'another method',
    code: '405 method-not-allowed',
    send: (world, token) => request(world, 'PUT', `/leads?access_token=${token}`),
  },
  {
    what: 'the fields of the form in the address',
    code: '405 method-not-allowed',
    send: (world, token) => request(world, 'GET', '/leads?firstName=Ada', token),
  },
  {
    what: 'two tokens',
    code: '400 malformed-request',
    send: (world, token) => request(world, 'POST', `/leads?access_token=x&access_token=${token}`),
  },
  {
    what: 'two spaces before the token',
    code: '401 token-invalid',
    send: async (world, token) => {
      const init = { method: 'POST', headers: { authorization: `Bearer  ${token}` } };
      return (await fetch(`${world.service.url}/leads`, init)).status;
    },
  },
  {
    what: 'a token with another scheme, in quotes',
    code: '401 token-missing',
    send: async (world, token) => {
      const init = { method: 'POST', headers: { authorization: `Token "${token}"` } };
      return (await fetch(`${world.service.url}/leads`, init)).status;
    },
  },
  {
    what: 'Bearer in the address',
    code: '401 token-invalid',
    send: (world, token) => request(world, 'POST', `/leads?access_token=Bearer%20${token}`),
  },
  {
    what: 'a token without its scheme',
    code: '401 token-missing',
    send: async (world, token) => {
      const init = { method: 'POST', headers: { authorization: token } };
      return (await fetch(`${world.service.url}/leads`, init)).status;
    },
  },
];

export const DOOR_SITUATIONS: readonly Situation[] = [
  {
    name: 'refused at the door: a body that is no JSON, then a lead of another person is accepted',
    async setUp(world) {
      const make = await world.established('make');
      expect(await postText(world, '[{"firstName": "Ada"')).toBe(400);
      await postAccepted(world);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 400 malformed-request.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 1 refused: malformed-request ' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 400 malformed-request.',
      ],
    },
  },
  {
    name: 'refused at the door: three people with one Idempotency-Key',
    async setUp(world) {
      const make = await world.established('make');
      const form = await formOf(world);
      const send = (email: string, firstName: string) =>
        world.post([{ firstName, email }], form, { 'idempotency-key': 'form-7' });
      expect((await send('ada', 'Ada')).status).toBe(422);
      expect((await send('ben@example.com', 'Ben')).status).toBe(201);
      expect((await send('eve@example.com', 'Eve')).status).toBe(422);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 2 requests were refused in the last 2 min, the last one 2 min ago, with 422 idempotency-key-reused.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 2 refused: idempotency-key-reused ' },
      alerts: [
        'error: form (user boss): 2 requests were refused in the last 2 min, the last one 2 min ago, with 422 idempotency-key-reused.',
      ],
    },
  },
  {
    name: 'refused at the door: nothing is kept, then a lead of another person is accepted',
    env: { LEADTAP_KEEP_REFUSED: 'off' },
    async setUp(world) {
      const make = await world.established('make');
      for (const name of ['Ada', 'Eve']) await postRefused(world, name);
      await postAccepted(world);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 2 requests were refused and are not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 2 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 2 requests were refused and are not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      ],
    },
  },
  {
    name: 'refused at the door: what was not kept is acknowledged by the operator, and another one is refused',
    env: { LEADTAP_KEEP_REFUSED: 'off' },
    async setUp(world) {
      const make = await world.established('make');
      for (const name of ['Ada', 'Eve']) await postRefused(world, name);
      await world.service.service.senders?.flush();
      expect((await world.command('leads refused delete --all --connection form --yes')).code).toBe(0);
      await postRefused(world, 'Joe');
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 3 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      ],
    },
  },
  {
    name: 'refused at the door: what was not kept is acknowledged by the operator',
    env: { LEADTAP_KEEP_REFUSED: 'off' },
    async setUp(world) {
      const make = await world.established('make');
      await postRefused(world);
      await world.service.service.senders?.flush();
      await world.service.service.alerts?.check();
      expect((await world.command('leads refused delete --all --connection form --yes')).code).toBe(0);
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'No lead yet. The only consumer polls as usual.',
      consumers: { make: 'active good' },
      senders: { form: 'unknown: 0 accepted, 1 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one 0 s ago, with 422 invalid-lead: vorname.',
        'ended after 2 min: form (user boss) has no refused request that is kept, and no other one of the last 7 days.',
      ],
    },
  },
  {
    name: 'refused at the door: kept for more than a week',
    async setUp(world) {
      const make = await world.established('make');
      await postRefused(world);
      await world.service.service.refusedLeads.flush();
      await world.service.service.senders?.flush();
      await world.service.service.alerts?.check();
      world.clock.advance(20 * DAY_MS);
      await make.polls(7);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'form (user boss): 1 request was refused 20 days ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 1 refused: invalid-lead vorname' },
      alerts: ['error: form (user boss): 1 request was refused 0 s ago, with 422 invalid-lead: vorname.'],
    },
  },
  {
    name: 'refused at the door: kept for 30 days, and then deleted without having been accepted',
    async setUp(world) {
      await postRefused(world);
      await world.service.service.refusedLeads.flush();
      await world.service.service.senders?.flush();
      await world.service.service.alerts?.check();
      await world.restart(31 * DAY_MS);
      await world.service.service.refusedLeads.flush();
      await (await world.established('make')).polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused more than 30 days ago and not accepted, the last one was deleted 14 min ago.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 0 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused 0 s ago, with 422 invalid-lead: vorname.',
        'error: form (user boss): 1 request was refused more than 30 days ago and not accepted, the last one was deleted 14 min ago.',
      ],
    },
  },
  {
    name: 'refused at the door: one is deleted after 30 days, and a later one is kept',
    async setUp(world) {
      await postRefused(world);
      await world.service.service.refusedLeads.flush();
      await world.service.service.senders.flush();
      world.clock.advance(20 * DAY_MS);
      await postRefused(world, 'Eve');
      await world.restart(11 * DAY_MS);
      await world.service.service.refusedLeads.flush();
      await (await world.established('make')).polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused 11 days ago, with 422 invalid-lead: vorname; 1 more is not kept, the last one was deleted 14 min ago.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 1 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused 11 days ago, with 422 invalid-lead: vorname; 1 more is not kept, the last one was deleted 14 min ago.',
      ],
    },
  },
  {
    name: 'refused at the door: one is deleted after 30 days, and a later one was accepted by the operator',
    async setUp(world) {
      await postRefused(world);
      world.clock.advance(20 * DAY_MS);
      await postRefused(world, 'Eve');
      await world.service.service.refusedLeads.flush();
      await world.service.service.senders.flush();
      const rows = await world.service.store.refusedLeads.list({ limit: 2 });
      const { code } = await world.command(`leads refused accept ${rows.at(-1)?.id} --map vorname=firstName`);
      expect(code).toBe(0);
      const make = await world.client('make');
      await make.poll(`since=${new Date(world.clock() - DAY_MS).toISOString()}`);
      await make.next();
      await world.restart(11 * DAY_MS);
      await world.service.service.refusedLeads.flush();
      await make.polls(7);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused and is not kept, the last one was deleted 12 min ago.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 1 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one was deleted 12 min ago.',
      ],
    },
  },
  {
    name: 'refused at the door: there is no room, and the operator deletes the held ones by their ids',
    async setUp(world) {
      const make = await world.established('make');
      await postRefused(world);
      await world.service.service.refusedLeads.flush();
      const { refusedLeads } = world.service.store;
      const [row] = await refusedLeads.list({ limit: 1 });
      const held = row && (await refusedLeads.find(row.id));
      if (!held) throw new Error('the request is not held');
      // A sender may have 500.
      const others = Array.from({ length: 499 }, (_, index) => {
        const body = Buffer.from(`[{"vorname":${index}}]`);
        return { ...held, id: `${held.id}-${index}`, body, bodyHash: hash('sha256', body) };
      });
      await refusedLeads.record(others);
      await postRefused(world, 'Eve');
      const ids = (await refusedLeads.list({ limit: 1000 })).map(({ id }) => id);
      expect((await world.command(`leads refused delete ${ids.join(' ')}`)).stdout).toBe(
        '500 requests deleted\n',
      );
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 0 accepted, 2 refused: invalid-lead vorname' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one 2 min ago, with 422 invalid-lead: vorname.',
      ],
    },
  },
  {
    name: 'refused at the door: tokens in addresses are accepted no more',
    env: { LEADTAP_INTAKE: 'urls' },
    async setUp(world) {
      const make = await world.established('make');
      expect(await postToAddress(world)).toBe(201);
      await make.polls(2);
      world.env = { LEADTAP_INTAKE: 'on' };
      await world.restart(1000);
      for (const status of [401, 401]) expect(await postToAddress(world)).toBe(status);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 2 requests were refused and are not kept, the last one 2 min ago, with 401 token-missing.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 2 refused: token-missing ' },
      alerts: [
        'error: form (user boss): 2 requests were refused and are not kept, the last one 2 min ago, with 401 token-missing.',
      ],
    },
  },
  ...UNIDENTIFIED.map(
    ({ what, code, send }): Situation => ({
      name: `refused at the door before the token is read: ${what}`,
      env: { LEADTAP_INTAKE: 'urls' },
      async setUp(world) {
        const make = await world.established('make');
        await postAccepted(world);
        expect(await send(world, await formOf(world))).toBe(Number(code.slice(0, 3)));
        await make.polls(2);
        await world.restart(1000);
        await make.polls(1);
      },
      claims: {
        light: 'red',
        healthy: false,
        summary: `form (user boss): 1 request was refused and is not kept, the last one 2 min 1 s ago, with ${code}.`,
        problems: ['leads-refused error'],
        consumers: { make: 'active good' },
        senders: { form: `error: 1 accepted, 1 refused: ${code.slice(4)} ` },
        alerts: [
          `error: form (user boss): 1 request was refused and is not kept, the last one 2 min 1 s ago, with ${code}.`,
        ],
      },
    }),
  ),
  {
    name: 'the user of a form was removed, and it still sends',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'seller', { scopes: ['leads:write'] });
      expect((await world.post([{ firstName: 'Ada' }], form)).status).toBe(201);
      await world.service.service.senders?.flush();
      await make.polls(2);
      await world.command('user remove seller');
      expect((await world.post([{ firstName: 'Ben' }], form)).status).toBe(404);
      await world.service.service.alerts?.check();
      world.clock.advance(DAY_MS);
      expect((await world.post([{ firstName: 'Eve' }], form)).status).toBe(404);
      await world.restart(6 * DAY_MS);
      // The start of the test service adds its users again.
      await world.command('user remove seller');
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user seller): 2 requests since 2026-03-02 were refused and are not kept, the last one 6 days ago, with 404 user-not-found.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 2 refused: user-not-found ' },
      alerts: [
        'error: form (user seller): 1 request was refused and is not kept, the last one 0 s ago, with 404 user-not-found.',
        'error: form (user seller): 2 requests since 2026-03-02 were refused and are not kept, the last one 6 days ago, with 404 user-not-found.',
      ],
    },
  },
  {
    name: 'the user of a form was removed before it sent anything: its company is not known',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'seller', { scopes: ['leads:write'] });
      await world.command('user remove seller');
      expect((await world.post([{ firstName: 'Ben' }], form)).status).toBe(404);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user seller): 1 request was refused and is not kept, the last one 2 min ago, with 404 user-not-found.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      alerts: [
        'error: form (user seller): 1 request was refused and is not kept, the last one 2 min ago, with 404 user-not-found.',
      ],
    },
  },
  {
    name: 'the user of a form was removed, and the operator ends what was refused since',
    async setUp(world) {
      const make = await world.established('make');
      const form = await world.token('form', 'seller', { scopes: ['leads:write'] });
      await world.command('user remove seller');
      expect((await world.post([{ firstName: 'Ben' }], form)).status).toBe(404);
      await world.service.service.senders?.flush();
      expect((await world.command('leads refused delete --all --connection form --yes')).code).toBe(0);
      await world.restart(HOUR_MS);
      await make.polls(7);
    },
    claims: {
      light: 'green',
      summary: 'No lead yet. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'what is not sent by a form, or with a token that is not valid, is no refused lead',
    env: { LEADTAP_INTAKE: 'urls' },
    async setUp(world) {
      const make = await world.established('make');
      await postAccepted(world);
      const form = await formOf(world);
      const poller = await world.token('make', 'boss');
      const forged = `${form.slice(0, -4)}AAAA`;
      for (const method of ['GET', 'HEAD', 'OPTIONS'])
        expect(await request(world, method, `/leads?access_token=${form}`)).toBe(405);
      for (const token of [poller, forged])
        expect(await request(world, 'POST', '/automation/new-leads', token)).toBe(405);
      expect(await request(world, 'GET', '/leads?limit=5', poller)).toBe(405);
      expect(await request(world, 'PUT', '/leads', forged)).toBe(405);
      expect(await request(world, 'POST', '/leads/', forged)).toBe(404);
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'refused at the door: five people with one id',
    async setUp(world) {
      const make = await world.established('make');
      const form = await formOf(world);
      for (const firstName of ['Ada', 'Ben', 'Eve', 'Joe', 'Kim'])
        await world.post([{ id: 'form-7', firstName }], form);
      await make.polls(2);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 4 requests were refused in the last 2 min, the last one 2 min ago, with 422 id-of-another-person: id.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      senders: { form: 'error: 1 accepted, 4 refused: id-of-another-person id' },
      alerts: [
        'error: form (user boss): 4 requests were refused in the last 2 min, the last one 2 min ago, with 422 id-of-another-person: id.',
      ],
    },
  },
  {
    name: 'a lead is corrected by its id, again and again',
    async setUp(world) {
      const make = await world.established('make');
      const form = await formOf(world);
      const lead = { id: 'a', firstName: 'Ada', email: 'ada@exmaple.com', phone1: '0612' };
      for (const change of [
        {},
        { email: 'ada@example.com' },
        { phone1: '06 12' },
        { phone1: '0613' },
        { email: 'ada@work.example', phone1: '0614' },
        { id: 'a', statusValue: 'NEW' },
      ])
        await world.post([{ ...lead, ...change }], form);
      await make.polls(2);
    },
    claims: {
      light: 'green',
      summary: 'The only lead since Monday reached an automation. The only consumer polls as usual.',
      consumers: { make: 'active good' },
    },
  },
  {
    name: 'the intake is switched off, and a form sent leads before',
    async setUp(world) {
      const make = await world.established('make');
      await postAccepted(world);
      await make.polls(2);
      world.env = { LEADTAP_INTAKE: 'off' };
      await world.restart(1000);
      expect((await world.post([{ firstName: 'Ada' }], await formOf(world))).status).toBe(404);
      await make.polls(7);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 1 request was refused and is not kept, the last one 12 min ago, with 404 no-such-resource. LEADTAP_INTAKE is off: what form (user boss) sends is answered with 404 and not kept.',
      problems: ['intake-off warning', 'leads-refused error'],
      consumers: { make: 'active good' },
      alerts: [
        'error: form (user boss): 1 request was refused and is not kept, the last one 12 min ago, with 404 no-such-resource.',
        'warning: LEADTAP_INTAKE is off: what form (user boss) sends is answered with 404 and not kept.',
      ],
    },
  },
  {
    name: 'the intake is off, and a form that has never sent before sends',
    env: { LEADTAP_INTAKE: 'off' },
    async setUp(world) {
      const make = await world.established('make');
      for (const firstName of ['Ada', 'Eve'])
        expect((await world.post([{ firstName }], await formOf(world))).status).toBe(404);
      await make.polls(2);
      await world.service.service.senders.flush();
      const { stdout } = await world.command('doctor');
      expect(stdout).toContain(
        'LEADTAP_INTAKE is off. Set `LEADTAP_INTAKE=on`, or `urls` for tokens in addresses, and start the service again.',
      );
      expect(stdout).not.toContain('address is wrong');
    },
    claims: {
      light: 'red',
      healthy: false,
      summary:
        'form (user boss): 2 requests were refused and are not kept, the last one 2 min ago, with 404 no-such-resource. LEADTAP_INTAKE is off: what form (user boss) sends is answered with 404 and not kept.',
      problems: ['intake-off warning', 'leads-refused error'],
      consumers: { make: 'active good' },
      alerts: [
        'error: form (user boss): 2 requests were refused and are not kept, the last one 2 min ago, with 404 no-such-resource.',
        'warning: LEADTAP_INTAKE is off: what form (user boss) sends is answered with 404 and not kept.',
      ],
    },
  },
  {
    name: 'the intake is switched off while a refused request is kept',
    async setUp(world) {
      const make = await world.established('make');
      await postRefused(world);
      world.env = { LEADTAP_INTAKE: 'off' };
      await world.restart(HOUR_MS);
      await world.command('token revoke form');
      await make.polls(7);
    },
    claims: {
      light: 'red',
      healthy: false,
      summary: 'form (user boss): 1 request was refused 1 h 12 min ago, with 422 invalid-lead: vorname.',
      problems: ['leads-refused error'],
      consumers: { make: 'active good' },
      alerts: [
        'error: form (user boss): 1 request was refused 1 h 12 min ago, with 422 invalid-lead: vorname.',
      ],
    },
  },
];
