// @both-stores for each change
import { hash } from 'node:crypto';
import type { RefusedLeadWithBody } from 'leadtap';
import { expect, it } from 'vitest';
import { sendBody } from '../../../testing/harness/intake.ts';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import { startService } from '../../../testing/harness/service.ts';

const rowsOf = (tokenId: string, count: number, bytes: number): readonly RefusedLeadWithBody[] =>
  Array.from({ length: count }, (_, at) => {
    const text = `{"mail":"${at}"}`;
    const body = Buffer.from(text.padEnd(bytes));
    return {
      ...{ id: `0190-${tokenId}-${at}`, companyId: 'acme', userId: 'boss', tokenId, source: null },
      ...{
        client: null,
        answerMap: null,
        timeZone: null,
        receivedAt: Date.now(),
        lastAt: Date.now(),
        times: 1,
      },
      ...{ code: 'invalid-lead', errors: [], mediaType: 'application/json' },
      ...{ body, bodyHash: hash('sha256', body) },
    };
  });

async function startFull(tokens: readonly string[], count: number, bytes: number) {
  const test = await startService();
  const named = ['form', 'renewed'].map((id) => ({ ...issuedToken('boss', id), name: 'Web form' }));
  await test.store.recordTokens(named);
  for (const token of tokens) {
    const rows = rowsOf(token, count, bytes);
    for (let start = 0; start < count; start += 100)
      expect((await test.store.refusedLeads.record(rows.slice(start, start + 100))).size).toBeGreaterThan(0);
  }
  const ids = async () => (await test.store.refusedLeads.list({ limit: 2000 })).map(({ id }) => id);
  const before = await ids();
  const send = async (tokenId: string, mail: string, userId = 'boss'): Promise<unknown> => {
    const answer = await sendBody(test, mail.padEnd(bytes), { tokenId, userId });
    const { held } = (await answer.json()) as { readonly held?: boolean };
    return held;
  };
  return { test, send, before, ids };
}

it.each([
  ['500 requests', 500, 20],
  ['8 MiB', 128, 65_536],
])(
  'a connection has room for %s: a further one is not held, and none is deleted for it',
  async (_, count, bytes) => {
    const { test, send, before, ids } = await startFull(['form'], count, bytes);
    expect(await send('form', '{"mail":"new"}')).toBe(false);
    expect(await send('renewed', '{"mail":"new"}'), 'another token of its name').toBe(false);
    expect(await ids()).toEqual(before);
    expect(await send('form', '{"mail":"0"}'), 'the same body again').toBe(true);
    expect(await test.store.refusedLeads.find('0190-form-0')).toMatchObject({ times: 2 });
    expect(await send('other', '{"mail":"new"}'), 'another connection').toBe(true);
    expect(await test.store.refusedLeads.remove(['0190-form-0'])).toBe(1);
    expect(await send('form', '{"mail":"new"}'), 'there is room again').toBe(true);
    await test.service.connections.flush();
    const facts = await test.store.connections.list({
      ...{ companyId: 'acme', limit: 9, now: Date.now(), since: 0, acceptedKeys: [''] },
    });
    expect(facts.map(({ lost }) => lost.map(({ requests }) => requests)).sort()).toEqual([[], [2]]);
  },
);

it.each([
  ['1,000 requests', 500, 20],
  ['16 MiB', 128, 65_536],
])('a company has room for %s, and another one for its own', async (_, count, bytes) => {
  const { send, before, ids } = await startFull(['form', 'other'], count, bytes);
  expect(await send('third', '{"mail":"new"}')).toBe(false);
  expect(await send('of a seller', '{"mail":"new"}', 'seller')).toBe(false);
  expect(await ids()).toEqual(before);
  expect(await send('of globex', '{"mail":"new"}', 'rival')).toBe(true);
});
