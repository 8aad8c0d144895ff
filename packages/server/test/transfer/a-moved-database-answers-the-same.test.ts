import type { Problem } from '@leadtap/contract';
import fc from 'fast-check';
import type { LeadInput } from 'leadtap';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { toIso } from '../../src/clock.ts';
import { moveUp, run } from './commands.ts';
import { makeEnds } from './ends.ts';
import { leads } from './made-up-leads.ts';
import { makeToken, nextQuery, type Served, serve } from './served.ts';
import { StoreProcess } from './store-process.ts';

const USERS = ORGANISATION.companies.flatMap(({ users }) => users.map(({ id }) => id));
/** Somebody whose user is not there, a second token of somebody who has one, and somebody who is gone. */
const TOKENS = new Map([...USERS, 'nobody'].map((userId) => [`token of ${userId}`, userId]));
const REVOKED = 'token of boss, withdrawn';
TOKENS.set(REVOKED, 'boss');
const REMOVED = 'rival-seller';

const issued = [...TOKENS].map(([id, userId], index) => ({
  id,
  userId,
  name: index % 2 === 0 ? null : `No. ${index}`,
  issuedAt: 1_700_000_000_000 + index,
  expiresAt: 1_900_000_000_000 + index,
}));

/** An installation with a past: history, leads as they came in, updates, tokens withdrawn, a user removed. */
async function fill(store: StoreProcess, inputs: readonly LeadInput[]): Promise<number[]> {
  await store.call('applyOrganisation', ORGANISATION);
  const past = inputs.slice(0, 10).map((lead, index) => ({ ...lead, createdAt: 1_500_000_000_000 + index }));
  const stamps = await store.add(past, { historical: true });
  for (let start = 10; start < inputs.length; start += 15)
    stamps.push(...(await store.add(inputs.slice(start, start + 15))));
  await store.call('recordTokens', issued);
  await store.call('revokeToken', REVOKED);
  await store.call('removeUser', REMOVED);
  return stamps;
}

/** Everything that a caller can find out: the answers to several questions, with what they lead on to. */
const answersTo = (service: Served, token: string, questions: readonly string[]) =>
  Promise.all(
    questions.map(async (question) => {
      const response = await service.poll(token, question);
      return response.ok
        ? { question, body: await response.json(), next: nextQuery(response) }
        : { question, status: response.status, code: ((await response.json()) as Problem).code };
    }),
  );

async function compareBeforeAndAfter(inputs: readonly LeadInput[]): Promise<void> {
  const ends = await makeEnds();
  const store = new StoreProcess(ends.from);
  const stamps = await fill(store, inputs);
  const listed = [];
  for (const userId of USERS) listed.push(await store.call('listTokens', userId));
  await store.close();

  const sinces = [0, ...stamps.filter((_, index) => index % 9 === 0), Date.now() + 60_000].map(toIso);
  const questions = ['', 'limit=3', ...sinces.map((since) => `since=${since}&limit=7`), 'since=yesterday'];
  const old = await serve(ends, ends.from);
  const tokens = await Promise.all([...TOKENS].map(([id, userId]) => makeToken(ends, userId, id)));
  const before = [];
  for (const token of tokens) before.push(await answersTo(old, token, questions));
  await old.stop();

  expect(await moveUp(ends)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^moved and verified: 2 companies, 12 statuses, /m),
  });

  const moved = await serve(ends, ends.to);
  for (const [index, token] of tokens.entries())
    expect(await answersTo(moved, token, questions)).toEqual(before[index]);
  await moved.stop();
  const statuses = before.map(([first]) => first && ('status' in first ? first.status : 200));
  expect(new Set(statuses)).toEqual(new Set([200, 401, 403, 404]));

  const movedStore = new StoreProcess(ends.to);
  for (const [index, userId] of USERS.entries())
    expect(await movedStore.call('listTokens', userId)).toEqual(listed[index]);
  await movedStore.close();
}

test('every user gets the same answers to the same questions, with the same tokens', async () => {
  const inputs = fc.tuple(leads, leads, leads).map((batches) => batches.flat());
  await fc.assert(fc.asyncProperty(inputs, compareBeforeAndAfter), { numRuns: 1, endOnFailure: true });
});

test('a target that sorts in another way is verified all the same', async () => {
  const ends = await makeEnds();
  const store = new StoreProcess(ends.from);
  await store.call('applyOrganisation', ORGANISATION);
  const ids = ['b', 'A', 'a', 'B', '_', '\u{1f600}', '\uffee'];
  await store.call(
    'recordTokens',
    ids.map((id) => ({ id, userId: 'boss', name: null, issuedAt: 1, expiresAt: 2 })),
  );
  await store.close();
  await run(ends, ['migrate'], { env: { LEADTAP_DATABASE_URL: ends.to } });
  await ends.sql('ALTER TABLE leadtap.issued_tokens ALTER COLUMN id TYPE text COLLATE "en-x-icu"');
  expect(await moveUp(ends)).toMatchObject({ code: 0, stdout: expect.stringContaining(' 7 issued tokens') });
});
