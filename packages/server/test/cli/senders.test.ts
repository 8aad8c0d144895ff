import { expect, test } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';
import { terminal } from './terminal.ts';

const LEAD = { firstName: 'Ada' };

test('leadtap senders lists who sends, what was refused, and the state in words', async () => {
  const service = await startService();
  const { store, database } = service;
  const run = async (command: string) => {
    await service.service.senders?.flush();
    await service.service.refusedLeads.flush();
    return terminal().run(command, { env: database.env });
  };
  expect(await run('senders')).toMatchObject({
    ...{ code: 0, stdout: '', stderr: 'No lead has come in over HTTP yet.\n' },
  });
  const times = { issuedAt: Date.now(), expiresAt: Date.now() + 90 * 86_400_000, scopes: ['leads:write'] };
  await store.recordTokens([{ id: 'web', userId: 'boss', name: 'Web form', ...times }]);
  await sendLeads(service, [LEAD, LEAD], { tokenId: 'web' });
  await sendLeads(service, { ...LEAD, nick: 'Ada' }, { tokenId: 'web' });
  await sendLeads(service, LEAD, { userId: 'rival', tokenId: 'other' });
  const { code, stdout, stderr } = await run('senders');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.replaceAll(/\d+ s ago/g, 'now').split('\n')).toEqual([
    expect.stringMatching(/^NAME +USER +LAST LEAD +ACCEPTED +REFUSED +STATE +COMPANY$/),
    expect.stringMatching(
      /^Web form +boss +now +2 +1 +1 request was refused now, with 422 invalid-lead: nick +acme$/,
    ),
    expect.stringMatching(/^other +rival +now +1 +0 +last lead now +globex$/),
    '',
  ]);
  const json = async (command: string): Promise<unknown> => JSON.parse((await run(command)).stdout);
  expect(await json('senders --json --company acme')).toEqual([
    {
      ...{ id: expect.stringMatching(/^[\w-]{16}$/), name: 'Web form', tokenId: 'web', userId: 'boss' },
      ...{ companyId: 'acme', source: null, tokenExpiresAt: expect.any(String) },
      ...{ lastRequestAt: expect.any(String), lastAcceptedAt: expect.any(String) },
      lastRefusal: { at: expect.any(String), code: 'invalid-lead', fields: ['nick'] },
      ...{ accepted30d: 2, refused30d: 1, isRevoked: false, isReplaced: false, isInUse: true },
      refused: {
        ...{ kept: 1, requests: 1, firstAt: expect.any(String), lastAt: expect.any(String) },
        ...{
          unkept: 0,
          unkeptSince: null,
          unkeptAt: null,
          code: 'invalid-lead',
          fields: ['nick'],
          questions: [],
        },
      },
      problems: ['leads-refused'],
      // The clock of the commands is behind that of the service.
      last24h: Array.from({ length: 24 }, () => null),
      ...{ level: 'error', message: expect.stringContaining('422 invalid-lead: nick') },
    },
  ]);
  expect(await run('senders --company unknown')).toMatchObject({
    ...{ code: 1, stderr: expect.stringContaining('there is no company unknown') },
  });
});
