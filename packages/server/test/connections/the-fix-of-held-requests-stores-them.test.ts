/** The command that is printed for held requests stores their leads, as it is printed. */
import type { Connections } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';

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
  const service = await startService();
  expect((await sendLeads(service, body, { tokenId: 'form' })).status).toBe(422);
  const read = async (): Promise<Connections> => {
    await service.service.connections.flush();
    const authorization = `Bearer ${await service.token('boss')}`;
    const answer = await fetch(`${service.url}/automation/connections`, { headers: { authorization } });
    return (await answer.json()) as Connections;
  };
  const [row] = (await read()).in;
  expect(row).toMatchObject({ level: 'error', held: 1, added: 0, action: 'accept' });
  const [, command = ''] = /`leadtap (leads refused accept [^`]+)`/.exec(row?.fix ?? '') ?? [];
  const accepted = await terminal().run(command, { env: service.database.env, parts: { clock: Date.now } });
  expect(accepted).toMatchObject({ code: 0 });
  const leads = Array.isArray(body) ? body.length : 1;
  expect((await read()).in).toMatchObject([{ level: 'good', held: 0, added: leads }]);
  expect((await service.leads('boss'))[0]).toMatchObject(storedAs);
});
