// @both-stores for each change
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { LEADS_PATH } from '@leadtap/contract';
import type { Store } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';

const TOKEN = { tokenId: 'form', scopes: ['leads:write'] } as const;

/** Begins an upload, and resolves once its account was checked and all but the last byte of its body was sent. */
async function openUpload(test: TestService, userId: string, lead: object) {
  const consume = vi.spyOn(test.limiters.intake, 'consume');
  const body = JSON.stringify(lead);
  const headers = {
    authorization: `Bearer ${await test.token(userId, TOKEN)}`,
    'content-type': 'application/json',
    'content-length': body.length,
  };
  const upload = request(`${test.url}${LEADS_PATH}`, { method: 'POST', headers });
  const answered = new Promise<{ status: number; headers: object; body: string }>((resolve, reject) => {
    upload.once('error', reject).once('response', async (response) => {
      const { statusCode = 0, headers: received } = response;
      resolve({ status: statusCode, headers: received, body: await text(response) });
    });
  });
  upload.write(body.slice(0, -1));
  await vi.waitFor(() => expect(consume).toHaveResolved());
  return {
    consume,
    finish: async () => {
      upload.end(body.slice(-1));
      const { headers: received, ...answer } = await answered;
      return { ...answer, headers: received as Readonly<Record<string, unknown>> };
    },
  };
}

async function removeBoss(store: Store): Promise<void> {
  await store.recordTokens([issuedToken('boss', TOKEN.tokenId)]);
  await store.removeUser('boss');
}

/** What happens to the account, the code of the answer, and the lead that is sent. */
const CHANGES: readonly [
  string,
  (store: Store) => Promise<unknown>,
  Parameters<typeof expectProblem>[1],
  object,
][] = [
  ['the token is revoked', (store) => store.revokeToken(TOKEN.tokenId), 'token-revoked', {}],
  ['the user is removed', removeBoss, 'user-not-found', {}],
  [
    'the access level is lowered',
    (store) => store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' }),
    'invalid-lead',
    { branchId: 'south' },
  ],
];

describe.each(CHANGES)('%s', (_title, change, code, place) => {
  const lead = { id: 'late', firstName: 'Ada', ...place };

  it('before the last byte of the body: nothing is stored', async () => {
    const test = await startService();
    const other = await test.database.openStore();
    const upload = await openUpload(test, 'boss', lead);
    await change(other);
    await other.close();
    await expectProblem(await upload.finish(), code);
    expect(upload.consume).toHaveBeenCalledTimes(1);
    expect(await test.store.findLeads('late')).toEqual([]);
  });

  it('before the transaction of the write begins: nothing is stored', async () => {
    const test = await startService();
    const { writeAllLeads } = test.store;
    const write = vi.spyOn(test.store, 'writeAllLeads').mockImplementationOnce(async (...args) => {
      await change(test.store);
      return writeAllLeads.apply(test.store, args);
    });
    const authorization = `Bearer ${await test.token('boss', TOKEN)}`;
    await expectProblem(await sendLeads(test, lead, { headers: { authorization } }), code);
    expect(await write.mock.results[0]?.value).toEqual({ kind: 'account-changed' });
    expect(await test.store.findLeads('late')).toEqual([]);
  });
});

it('a token that expires before the last byte stores nothing', async () => {
  const clock = manualClock();
  const test = await startService({ clock });
  const upload = await openUpload(test, 'boss', { id: 'late', firstName: 'Ada' });
  clock.advance(2 * 3_600_000);
  await expectProblem(await upload.finish(), 'token-expired');
  expect(await test.store.findLeads('late')).toEqual([]);
});

it('leads are placed by the access level that the sender has at the commit', async () => {
  const test = await startService();
  const { writeAllLeads } = test.store;
  vi.spyOn(test.store, 'writeAllLeads').mockImplementationOnce(async (...args) => {
    await test.store.updateUser('north-lead', { branchId: 'south' });
    return writeAllLeads.apply(test.store, args);
  });
  const answer = await sendLeads(test, { id: 'late', firstName: 'Ada' }, { userId: 'north-lead' });
  expect(answer.status).toBe(201);
  expect(await test.store.findLeads('late')).toMatchObject([{ branchId: 'south' }]);
});

it('an account that never stays the same gets 503', async () => {
  const test = await startService();
  vi.spyOn(test.store, 'writeAllLeads').mockResolvedValue({ kind: 'account-changed' });
  await expectProblem(await sendLeads(test, { firstName: 'Ada' }), 'unavailable');
});
