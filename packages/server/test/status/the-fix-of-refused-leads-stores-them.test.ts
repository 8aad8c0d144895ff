/** The command that the diagnosis prints for refused requests stores their leads, as it is printed. */
import { expect, it } from 'vitest';
import { readStatus } from './support/status.ts';
import { World } from './truth-table/world.ts';

const BODIES: readonly (readonly [what: string, body: object, storedAs: object])[] = [
  ['an address that is none', { firstName: 'Ada', email: 'none' }, { customFields: { email: 'none' } }],
  [
    'three names that are no fields',
    { vorname: 'Ada', mail: 'ada@mail.example', telefon: '06' },
    { firstName: 'Ada', email: 'ada@mail.example', phone1: '06' },
  ],
  ['a field of its own', { firstName: 'Ada', roof: 'flat' }, { customFields: { roof: 'flat' } }],
  ['a status that does not exist', { firstName: 'Ada', statusValue: 'Neu' }, { statusValue: 'NEW' }],
  ['a branch that does not exist', { firstName: 'Ada', branchId: 'paris' }, { firstName: 'Ada' }],
  [
    'a text that is too long',
    { firstName: 'x'.repeat(1200), email: 'ada@mail.example' },
    { firstName: null },
  ],
  [
    'a time in another form',
    { firstName: 'Ada', appointmentDateTime: '05.03.2026 14:00' },
    { customFields: { appointmentDateTime: '05.03.2026 14:00' } },
  ],
  [
    'an array',
    [
      { firstName: 'Ada', telefon: '06' },
      { firstName: 'Ben', email: 'none' },
    ],
    { firstName: 'Ben' },
  ],
];

it.each(BODIES)('%s', async (_, body, storedAs) => {
  const world = new World();
  await world.start();
  const token = await world.token('form', 'boss', { scopes: ['leads:write'] });
  expect((await world.post(body, token)).status).toBe(422);
  const { service } = world.service;
  await service.senders?.flush();
  await service.refusedLeads.flush();
  const { problems } = await readStatus(world.service);
  const fix = problems.find(({ kind }) => kind === 'leads-refused')?.fix ?? '';
  const command =
    /`leadtap (leads refused accept [^`]+)` stores it if it is valid then\./.exec(fix)?.[1] ?? fix;
  expect(await world.command(command)).toMatchObject({ code: 0 });
  expect((await world.service.leads('boss'))[0]).toMatchObject(storedAs);
});

it('a body without a lead is deleted instead', async () => {
  const world = new World();
  await world.start();
  const token = await world.token('form', 'boss', { scopes: ['leads:write'] });
  expect((await world.post([], token)).status).toBe(422);
  await world.service.service.senders?.flush();
  await world.service.service.refusedLeads.flush();
  const { problems } = await readStatus(world.service);
  const fix = problems.find(({ kind }) => kind === 'leads-refused')?.fix ?? '';
  expect(fix).not.toContain('accept');
  const [, command] = /`leadtap (leads refused delete [^`]+)`/.exec(fix) ?? [];
  // The tests have no terminal to ask in.
  expect(await world.command(`${command} --yes`)).toMatchObject({ code: 0 });
  expect((await readStatus(world.service)).problems).toEqual([]);
});
