import type { Problem } from '@leadtap/contract';
import fc from 'fast-check';
import type { LeadInput } from 'leadtap';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { toIso } from '../../src/lib/clock.ts';
import { runMove } from './commands.ts';
import { makeEndpoints } from './endpoints.ts';
import { leads } from './made-up-leads.ts';
import { makeToken, queryOfLink, type Served, serve } from './served.ts';
import { StoreProcess } from './store-process.ts';

const USERS = ORGANISATION.companies.flatMap(({ users }) => users.map(({ id }) => id));
/** Tokens of all users and of an unknown one, and a second, revoked token. One of the users is removed later. */
const TOKENS = new Map([...USERS, 'unknown'].map((userId) => [`token of ${userId}`, userId]));
const REVOKED = 'revoked token of boss';
TOKENS.set(REVOKED, 'boss');
const REMOVED = 'rival-seller';

const issued = [...TOKENS].map(([id, userId], index) => ({
  id,
  userId,
  name: index % 2 === 0 ? null : `No. ${index}`,
  issuedAt: 1_700_000_000_000 + index,
  expiresAt: 1_900_000_000_000 + index,
  scopes: index === 0 ? ['leads:read', 'leads:write'] : ['leads:write'],
}));

/** An installation with history, new leads, updates, a revoked token and a removed user. */
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

/** The answers to several queries, each with its `Link`. */
const answersTo = (service: Served, token: string, queries: readonly string[]) =>
  Promise.all(
    queries.map(async (query) => {
      const response = await service.poll(token, query);
      return response.ok
        ? { query, body: await response.json(), next: queryOfLink(response) }
        : { query, status: response.status, code: ((await response.json()) as Problem).code };
    }),
  );

async function compareBeforeAndAfter(inputs: readonly LeadInput[]): Promise<void> {
  const endpoints = await makeEndpoints({ hasSchema: false });
  const store = new StoreProcess(endpoints.from);
  const stamps = await fill(store, inputs);
  const listed = [];
  for (const userId of USERS) listed.push(await store.call('listTokens', userId));
  await store.close();

  const sinces = [0, ...stamps.filter((_, index) => index % 9 === 0), Date.now() + 60_000].map(toIso);
  const queries = ['', 'limit=3', ...sinces.map((since) => `since=${since}&limit=7`), 'since=yesterday'];
  const old = await serve(endpoints, endpoints.from);
  const tokens = await Promise.all([...TOKENS].map(([id, userId]) => makeToken(endpoints, userId, id)));
  const before = [];
  for (const token of tokens) before.push(await answersTo(old, token, queries));
  await old.stop();

  expect(await runMove(endpoints)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^moved and verified: companies 2, statuses 12, /m),
  });

  const moved = await serve(endpoints, endpoints.to);
  for (const [index, token] of tokens.entries())
    expect(await answersTo(moved, token, queries)).toEqual(before[index]);
  await moved.stop();
  const statuses = before.map(([first]) => first && ('status' in first ? first.status : 200));
  expect(new Set(statuses)).toEqual(new Set([200, 401, 403, 404]));

  const movedStore = new StoreProcess(endpoints.to);
  for (const [index, userId] of USERS.entries())
    expect(await movedStore.call('listTokens', userId)).toEqual(listed[index]);
  await movedStore.close();
}

test('every user gets the same answers to the same queries, with the same tokens', async () => {
  await fc.assert(fc.asyncProperty(leads, compareBeforeAndAfter), { numRuns: 1, endOnFailure: true });
});

test('a target that sorts in another way is verified all the same', async () => {
  const endpoints = await makeEndpoints();
  const store = new StoreProcess(endpoints.from);
  await store.call('applyOrganisation', ORGANISATION);
  const ids = ['b', 'A', 'a', 'B', '_', '\u{1f600}', '\uffee'];
  await store.call(
    'recordTokens',
    ids.map((id) => ({ id, userId: 'boss', name: null, issuedAt: 1, expiresAt: 2, scopes: ['leads:read'] })),
  );
  await store.close();
  await endpoints.sql('ALTER TABLE leadtap.issued_tokens ALTER COLUMN id TYPE text COLLATE "en-x-icu"');
  expect(await runMove(endpoints)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('issued tokens 7,'),
  });
});
