import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { RefusedLeadStore, RefusedLeadWithBody, Store } from 'leadtap';
import { type ConformanceCheck, check, START } from './check.ts';
import { ACME, apply, GLOBEX } from './sample.ts';

const DAY_MS = 86_400_000;

/** Ids sort by their number. */
const idOf = (number: number): string => `0190-${String(number).padStart(6, '0')}`;

const refused = (number: number, rest: Partial<RefusedLeadWithBody> = {}): RefusedLeadWithBody => {
  const body = rest.body ?? Buffer.from(`{"mail":"${number}@example.com"}`);
  return {
    id: idOf(number),
    ...{
      companyId: 'acme',
      userId: 'boss',
      tokenId: 'form',
      source: null,
      client: null,
      answerMap: null,
      timeZone: null,
    },
    ...{ receivedAt: START + number, lastAt: START + number, times: 1, code: 'invalid-lead' },
    ...{ errors: [{ index: 0, field: 'mail', detail: 'is unknown' }], mediaType: 'application/json' },
    ...{ body, bodyHash: createHash('sha256').update(body).digest('hex') },
    ...rest,
  };
};

/** The connection of the requests above. */
const recordForm = ({ connections }: Store) =>
  connections.record([
    {
      ...{ userId: 'boss', kind: 'send', keyId: 'form', source: 'token', tokenExpiresAt: null },
      ...{ isKnownOnly: false, polls: [], pushes: [] },
      sends: [
        {
          ...{ firstAt: START, lastAt: START, times: 1, status: 422, code: 'invalid-lead', isHeld: true },
          ...{ added: 0, updated: 0, fields: [], durationMs: null },
        },
      ],
    },
  ]);

const checkRefused = (
  name: string,
  body: (refusedLeads: RefusedLeadStore, store: Store) => Promise<void>,
): ConformanceCheck =>
  check(`refused leads: ${name}`, async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await body(store.refusedLeads, store);
  });

const listAll = (store: RefusedLeadStore) => store.list({ limit: 10_000 });
const idsIn = async (store: RefusedLeadStore): Promise<string[]> =>
  (await listAll(store)).map(({ id }) => id);

export const refusedLeadChecks = [
  checkRefused('a row is stored as it was given, with any bytes', async (refusedLeads, store) => {
    const rest = {
      source: 'tally',
      answerMap: { 'Ihr "Dach"\0': 'customFields.roof' },
      timeZone: 'Europe/Paris',
    };
    const given = refused(1, {
      ...rest,
      body: Buffer.from([0, 0xff, 0xd8, 0x00, 0x27]),
      ...{
        tokenId: null,
        times: 3,
        lastAt: START + 9,
        mediaType: 'multipart/form-data; boundary="a;b"',
      },
      errors: [{ index: 7, field: 'a\0\ud800"', detail: 'x' }],
    });
    await refusedLeads.record([given]);
    const found = await refusedLeads.find(given.id);
    assert.deepEqual(found, { ...given, bytes: 5, connection: null, connectionId: null });
    const { body: _, bodyHash: __, ...listed } = found;
    assert.deepEqual(await listAll(refusedLeads), [listed]);
    assert.equal(await refusedLeads.find('0190-9\0'), undefined);
    await store.recordTokens([
      { id: 'form', userId: 'boss', name: 'Web form', issuedAt: 0, expiresAt: 1, scopes: ['leads:write'] },
    ]);
    await refusedLeads.record([refused(2), refused(3, { companyId: 'globex', userId: 'rival' })]);
    await recordForm(store);
    assert.equal((await refusedLeads.find(idOf(2)))?.connection, 'Web form');
    const page = await refusedLeads.list({ companyId: 'acme', after: idOf(1), limit: 5 });
    assert.deepEqual(
      page.map(({ id }) => id),
      [idOf(2)],
    );
    assert.deepEqual(await refusedLeads.remove([idOf(1), idOf(3), 'other']), 2);
    assert.deepEqual(await idsIn(refusedLeads), [idOf(2)]);
  }),

  checkRefused(
    'the same body of the same sender counts up, that of another one does not',
    async (refusedLeads) => {
      const { body } = refused(1);
      await refusedLeads.record([refused(1), refused(2, { body, tokenId: 'other' })]);
      await refusedLeads.record([
        refused(3, { body, times: 2, code: 'token-expired', errors: [] }),
        refused(4, { body, userId: 'seller' }),
      ]);
      const rows = (await listAll(refusedLeads)).map(({ id, times, receivedAt, lastAt, code, errors }) => ({
        id,
        times,
        receivedAt,
        lastAt,
        code,
        errors: errors.length,
      }));
      const once = { times: 1, code: 'invalid-lead', errors: 1 };
      assert.deepEqual(rows, [
        { id: idOf(1), times: 3, receivedAt: START + 1, lastAt: START + 3, code: 'token-expired', errors: 0 },
        { id: idOf(2), receivedAt: START + 2, lastAt: START + 2, ...once },
        { id: idOf(4), receivedAt: START + 4, lastAt: START + 4, ...once },
      ]);
    },
  ),

  checkRefused(
    'an accepted request removes the rows with its body that are of its user and source, and are not later',
    async (refusedLeads) => {
      const { body, bodyHash } = refused(1);
      await refusedLeads.record([
        refused(1),
        refused(2, { body, tokenId: 'expired' }),
        refused(3),
        refused(4, { body, companyId: 'globex', userId: 'rival' }),
        refused(5, { body, userId: 'seller' }),
        refused(6, { body, tokenId: 'of Tally', source: 'tally' }),
        refused(7, { body, tokenId: 'later', lastAt: START + 9 }),
      ]);
      const accepted = { companyId: 'acme', userId: 'boss', source: null, at: START + 8 };
      const accept = () =>
        refusedLeads.removeAccepted([
          { ...accepted, bodyHash: 'none' },
          { ...accepted, bodyHash },
        ]);
      assert.equal(await accept(), 2);
      assert.equal(await accept(), 0);
      assert.deepEqual(await idsIn(refusedLeads), [3, 4, 5, 6, 7].map(idOf));
    },
  ),

  checkRefused(
    'rows of removed users and old rows are deleted, and the old ones counted',
    async (refusedLeads, store) => {
      const held = await refusedLeads.record([
        refused(1),
        refused(2, { userId: 'seller' }),
        refused(3, { userId: 'stranger' }),
        refused(4, { companyId: 'globex', userId: 'boss' }),
        refused(5, { userId: 'north-lead', lastAt: START + 31 * DAY_MS }),
      ]);
      assert.deepEqual([...held].sort(), [idOf(1), idOf(2), idOf(5)]);
      assert.deepEqual(await idsIn(refusedLeads), [idOf(1), idOf(2), idOf(5)]);
      await recordForm(store);
      await store.removeUser('seller');
      assert.deepEqual(await idsIn(refusedLeads), [idOf(1), idOf(5)]);
      const now = START + 2 + 30 * DAY_MS;
      assert.equal(await refusedLeads.prune(now), 1);
      assert.deepEqual(await idsIn(refusedLeads), [idOf(5)]);
      const facts = await store.connections.list({
        ...{ companyId: 'acme', limit: 9, now, since: START, acceptedKeys: [''] },
      });
      assert.deepEqual(
        facts.flatMap(({ lost }) => lost.map(({ why, requests, lastAt }) => ({ why, requests, lastAt }))),
        [{ why: 'held-too-long', requests: 1, lastAt: START + 1 }],
      );
    },
  ),
];
