/** What comes in. */
import type { Row } from './support/row.ts';
import { DAY, type Form, HOUR, MINUTE, type World } from './support/world.ts';

const ADA = { firstName: 'Ada', email: 'ada@example.com' };
const RENAMED = { mail: 'ada@example.com' };
const times = async (count: number, work: () => Promise<unknown>): Promise<void> => {
  for (let time = 0; time < count; time += 1) await work();
};
/** A form that sends these, one after the other. */
const sends =
  (...bodies: readonly unknown[]) =>
  async (world: World): Promise<Form> => {
    const form = await world.form('web');
    for (const body of bodies) await form.post(body);
    return form;
  };
/** So many more than 600 in a minute. */
const turnedAway = (count: number) => async (world: World) => {
  const form = await sends(ADA)(world);
  for (let used = 1; used < 600; used += 1) await world.service.limiters.intake.consume('boss');
  for (let sent = 0; sent < count; sent += 1) await form.post(ADA);
};
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

export const DOOR_ROWS: readonly Row[] = [
  {
    name: '1: 5 with a token that was cut, 3 without one',
    async history(world) {
      const { token } = await sends(ADA)(world);
      await times(5, () => world.post(ADA, bearer(token.slice(0, -9))));
      await times(3, () => world.post(ADA, {}));
    },
    says: {
      web: ['good working 1 added'],
      door: ['warning new 8 lost → handled', '3 requests without a key, 5 requests with a wrong key'],
    },
  },
  {
    name: '1, 70: two days later',
    async history(world) {
      await times(5, () => world.post(ADA, bearer('x')));
      await world.wait(2 * DAY);
    },
    says: { door: ['unknown new 5 lost', '5 requests with a wrong key'] },
  },
  {
    name: '2: quotes, two spaces, Bearer twice, no Bearer',
    async history(world) {
      const { token } = await sends(ADA)(world);
      for (const text of [`Bearer "${token}"`, `Bearer  ${token}`, `Bearer Bearer ${token}`, token])
        await world.post(ADA, { authorization: text });
    },
    says: { web: ['error working 1 added 4 lost → handled', 'Bearer'] },
  },
  {
    name: '3: a form has the token of a poller',
    history: async (world) => (await world.form('web', { scopes: ['leads:read'] })).post(ADA),
    says: { web: ['error new 1 held → accept', 'its key may only read'] },
  },
  {
    name: '4: broken JSON, another type, 2 MiB',
    async history(world) {
      const form = await sends(ADA)(world);
      await form.post('{"firstName":');
      await form.post('Ada', { 'content-type': 'text/plain' });
      await form.post({ notes: 'x'.repeat(2 ** 21) });
    },
    says: {
      web: ['error working 1 added 3 lost → handled', 'too large; neither JSON nor a form; no valid JSON'],
    },
  },
  {
    name: '5: the token is in the address',
    async history(world) {
      const { token } = await sends(ADA)(world);
      await world.post(ADA, {}, `?access_token=${token}`);
    },
    says: { web: ['error working 1 added 1 lost → handled', 'its key is in the address'] },
  },
  {
    name: '6: the intake was off for a while',
    async history(world) {
      const form = await sends(ADA)(world);
      await world.restart({ LEADTAP_INTAKE: 'off' });
      await times(4, () => form.post(ADA));
      await world.restart({ LEADTAP_INTAKE: 'on' }, HOUR);
      await form.post(ADA);
      await world.wait(20 * DAY);
    },
    says: { web: ['error working 2 added 4 lost → handled', 'LEADTAP_INTAKE was off'] },
  },
  {
    name: '7: its token has expired',
    async history(world) {
      const form = await world.form('web', { expiresInMs: HOUR });
      await form.post(ADA);
      await world.wait(2 * HOUR);
      await form.post(ADA);
    },
    says: { web: ['error working 1 added 1 held → accept', 'its key has expired'] },
  },
  {
    name: '8: its token was revoked',
    async history(world) {
      const form = await sends(ADA)(world);
      await world.command('token revoke web');
      await times(2, () => form.post(ADA));
    },
    says: { web: ['error ended 1 added 2 lost → handled', 'its key was revoked'] },
  },
  {
    name: '8: a form that is switched off by revoking its token is gone',
    async history(world) {
      await sends(ADA)(world);
      await world.command('token revoke web');
      await world.wait(20 * DAY);
    },
    says: {},
  },
  {
    name: '9: its user was removed',
    async history(world) {
      const form = await world.form('web', { user: 'seller' });
      await form.post(ADA);
      const other = await world.form('other', { user: 'seller' });
      await world.command('user remove seller');
      await form.post(ADA);
      await other.post(ADA);
    },
    says: {
      web: ['error ended 1 added 1 lost → handled', 'its user was removed'],
      other: ['error new 1 lost → handled', 'its user was removed'],
    },
  },
  {
    name: '10: a field is renamed',
    history: sends(RENAMED, { mail: 'ben@example.com' }),
    says: { web: ['error new 2 held → accept', 'not valid: mail'] },
  },
  {
    name: '10: and they are accepted',
    async history(world) {
      await sends(RENAMED, { mail: 'ben@example.com' })(world);
      await world.command('leads refused accept --all --connection web --map mail=email');
    },
    says: { web: ['good working 2 added'] },
  },
  {
    name: '11: it is repeated after it was accepted',
    async history(world) {
      const form = await sends(RENAMED)(world);
      await world.command('leads refused accept --all --connection web --map mail=email');
      await form.post({ email: 'ada@example.com' });
    },
    says: { web: ['good working 2 added'] },
  },
  {
    name: '12: nothing is held',
    env: { LEADTAP_KEEP_REFUSED: 'off' },
    history: sends(RENAMED, ADA, ADA, ADA, ADA, ADA),
    says: { web: ['error working 5 added 1 lost → handled'] },
  },
  {
    name: '12: and it is marked as handled',
    env: { LEADTAP_KEEP_REFUSED: 'off' },
    async history(world) {
      await sends(RENAMED, ADA)(world);
      await world.command('connections handled web');
    },
    says: { web: ['good working 1 added'] },
  },
  {
    name: '13: a test without contact',
    history: sends({}),
    says: { web: ['error new 1 held → accept', 'no name, e-mail address or phone number'] },
  },
  {
    name: '14: 641 in a minute',
    history: (world) => turnedAway(41)(world),
    says: { web: ['warning working 1 added 41 lost → handled', 'more than 600 a minute'] },
    sentence: 'Gone: 41',
  },
  {
    name: '14: two days later',
    async history(world) {
      await turnedAway(41)(world);
      await world.wait(2 * DAY);
    },
    says: { web: ['good working 1 added 41 lost', '41 refused, not saved'] },
  },
  {
    name: '15: one id for all people',
    history: sends(
      { id: 'form', firstName: 'Ada', addressNotes: 'a' },
      { id: 'form', firstName: 'Ben', addressNotes: 'b' },
    ),
    says: { web: ['error working 1 added 1 held → accept', 'the id of another person'] },
  },
  {
    name: '16, 17: the number of a customer as id',
    history: sends(
      { id: '7', firstName: 'Ada', email: 'a@example.com' },
      { id: '7', firstName: 'Ada', email: 'b@example.com' },
      { id: '7', firstName: 'Ada', email: 'c@example.com' },
    ),
    says: { web: ['good working 1 added 2 updated', 'not sent again'] },
  },
  {
    name: '18: one Idempotency-Key for all people',
    async history(world) {
      const form = await world.form('web');
      for (const firstName of ['Ada', 'Ben']) await form.post({ firstName }, { 'idempotency-key': 'k' });
    },
    says: { web: ['error working 1 added 1 held → accept', 'the Idempotency-Key of another lead'] },
  },
  {
    name: '19: the key of a session, and another text with the right address',
    async history(world) {
      const form = await world.form('web');
      for (const email of ['gil@', 'gil@example.com'])
        await form.post({ firstName: 'Gil', email }, { 'idempotency-key': 'k' });
    },
    says: { web: ['error working 1 added 1 held → accept', 'not valid: email'] },
  },
  ...[0, 29].map(
    (days): Row => ({
      name: `20: one is held for ${days} days`,
      async history(world) {
        await sends(ADA, RENAMED)(world);
        await world.wait(days * DAY);
        await world.service.store.refusedLeads.prune(world.clock());
      },
      says: { web: ['error working 1 added 1 held → accept'] },
    }),
  ),
  ...[31, 39, 400].map(
    (days): Row => ({
      name: `20: it was deleted, on day ${days}`,
      async history(world) {
        await sends(RENAMED)(world);
        await world.wait(days * DAY);
        await world.service.store.refusedLeads.prune(world.clock());
      },
      says: { web: ['error new 1 lost → handled', 'held for 30 days, then deleted'] },
    }),
  ),
  {
    name: '22: the address of alerts answers 404',
    async history(world) {
      await sends(RENAMED)(world);
      world.answer(200, 404);
      await world.service.service.connections.flush();
      await world.service.service.alerts?.check();
      world.answer(200);
    },
    says: { web: ['error new 1 held → accept'] },
    problems: ['alerts-failing'],
  },
  {
    name: '64: two tests on its first day, then none for three weeks',
    async history(world) {
      await sends(ADA, ADA)(world);
      await world.wait(21 * DAY);
    },
    says: { web: ['good working 2 added'] },
  },
  {
    name: '64: it has added ten, one a day, and none for five days',
    async history(world) {
      const form = await world.form('web');
      await times(10, async () => {
        await form.post(ADA);
        await world.wait(DAY);
      });
      await world.wait(4 * DAY + HOUR);
    },
    says: { web: ['warning silent 10 added → handled', 'its longest pause was'] },
  },
  {
    name: '65: its token is renewed, and a page still sends the old one',
    async history(world) {
      const form = await sends(ADA)(world);
      await world.command('token renew web');
      await world.wait(MINUTE);
      await form.post(ADA);
    },
    says: { web: ['good working 2 added', 'old key'] },
  },
];
