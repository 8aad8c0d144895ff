import assert from 'node:assert/strict';
import type { LeadScope, LeadSearchQuery, Store } from 'leadtap';
import { check } from './check.ts';
import { ACME, ALL_OF_ACME, apply, find, GLOBEX, lead, stamp } from './sample.ts';

/** Follows `next` to the end: a search may end early, with few leads or none. */
async function searchAll(store: Store, search: Omit<LeadSearchQuery, 'scope'> & { scope?: LeadScope }) {
  const found: string[] = [];
  let before = search.before;
  for (;;) {
    const result = await store.searchLeads({ scope: ALL_OF_ACME, ...search, before });
    assert(result.leads.length <= search.limit, 'a search finds at most `limit` leads');
    found.push(...result.leads.map((stored) => stored.lead.id));
    if (result.next === undefined) return found;
    assert(before === undefined || result.next < before, 'the next search begins later');
    before = result.next;
  }
}

const NORTH: LeadScope = { level: 'BRANCH', companyId: 'acme', branchId: 'north' };
const SALES: LeadScope = { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' };

const PEOPLE = [
  lead('K-1001', { fields: { firstName: '\u00c9lodie', lastName: 'Petit', phone1: '+33 6 12 34 56 78' } }),
  lead('K-1002', {
    fields: { fullName: 'Bo Berg', email: 'Bo.Berg@Example.com', phone2: '0049 170 1234567' },
  }),
  lead('x', { fields: { firstName: 'E\u0301lodie', lastName: 'Grand', email: 'e@example.org' } }),
  lead('\u0434', {
    fields: { fullName: '\u0414\u043e\u0441\u0442\u043e\u0435\u0432\u0441\u043a\u0438\u0439' },
  }),
  lead('strokes', {
    fields: {
      fullName: '\u0141ukasz S\u00f8ren \u0110or\u0111e\u00a0Stra\u00dfer',
      phone1: '06 98 76 54 32',
    },
  }),
  lead('spaces', { fields: { firstName: 'Ida  May ', lastName: ' Wells', phone1: '(415) 555-2671' } }),
  lead('odd', { fields: { fullName: '100 % [a-z]* \\ _ \'quoted\' "x"', lastName: 'line\nbreak' } }),
];

const FOUND: readonly (readonly [text: string, ids: readonly string[]])[] = [
  ['elodie', ['x', 'K-1001']],
  ['\u00c9LODIE PETIT', ['K-1001']],
  ['petit +33', []],
  ['berg', ['K-1002']],
  ['bo.berg@example', ['K-1002']],
  ['k-100', ['K-1002', 'K-1001']],
  ['06 12 34 56 78', ['K-1001']],
  ['+33612345678', ['K-1001']],
  ['+49 (0)170 / 123', ['K-1002']],
  ['12345', ['K-1002', 'K-1001']],
  ['5678', ['K-1001']],
  ['0061', []],
  ['+33 6 98 76 54 32', ['strokes']],
  ['0033 (0)6 98', ['strokes']],
  ['+34 6 98 76 54 32', ['strokes']],
  ['+33 7 98 76 54 32', []],
  ['+1 415 555 2671', ['spaces']],
  ['+14', []],
  ['lukasz soren dorde strasser', ['strokes']],
  ['\u00d8REN  \u0111or', ['strokes']],
  ['ida may wells', ['spaces']],
  ['Ida\u00a0May', ['spaces']],
  ['\u0434\u041e\u0421\u0422', ['\u0434']],
  ['%', ['odd']],
  ['_', ['odd']],
  ["'quoted' \"", ['odd']],
  ['[a-z]*', ['odd']],
  ['\\', ['odd']],
  ['mallory', []],
  ['a\0', []],
  ['a'.repeat(200), []],
];

export const searchChecks = [
  check('search: a text is found in names, e-mail addresses, phone numbers and ids', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, [...PEOPLE, lead('other', { companyId: 'globex', fields: { fullName: 'Bo Berg' } })]);
    for (const [text, ids] of FOUND)
      assert.deepEqual(await searchAll(store, { text, limit: 10 }), ids, JSON.stringify(text));
  }),

  check('search: leads are found newest first, each once, in pages of any size', async ({ store }) => {
    await apply(store, ACME);
    const ids = Array.from({ length: 1203 }, (_, index) => `lead-${index}`);
    const stamps = await stamp(
      store,
      ids.map((id, index) => lead(id, { fields: { fullName: index % 3 === 0 ? 'Zo\u00eb' : 'Ada' } })),
    );
    const newestFirst = [...ids].reverse();
    const named = newestFirst.filter((_, index) => (1202 - index) % 3 === 0);
    for (const limit of [7, 100, 5000]) {
      assert.deepEqual(await searchAll(store, { limit }), newestFirst);
      assert.deepEqual(await searchAll(store, { text: 'ZOE', limit }), named);
      assert.deepEqual(await searchAll(store, { before: stamps[5] ?? 0, limit }), newestFirst.slice(-5));
      assert.deepEqual(await searchAll(store, { text: 'zoe', before: stamps[3] ?? 0, limit }), ['lead-0']);
    }
  }),

  check('search: only leads of the scope are found, with the fields of a poll', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    await stamp(store, [
      lead('company'),
      lead('north', { branchId: 'north' }),
      lead('sales', { departmentId: 'sales', fields: { customFields: { a: [1, null] }, sameDay: true } }),
      lead('south', { branchId: 'south' }),
      lead('globex', { companyId: 'globex', departmentId: 'sales' }),
    ]);
    for (const text of [undefined, 'o', 'a']) {
      const has = (id: string) => text === undefined || id.includes(text);
      const expected = (...ids: string[]) => ids.filter(has);
      const all = expected('south', 'sales', 'north', 'company');
      assert.deepEqual(await searchAll(store, { text, limit: 10 }), all);
      assert.deepEqual(await searchAll(store, { scope: NORTH, text, limit: 10 }), expected('sales', 'north'));
      assert.deepEqual(await searchAll(store, { scope: SALES, text, limit: 10 }), expected('sales'));
    }
    const { leads } = await store.searchLeads({ scope: SALES, text: 'sales', limit: 10 });
    const lead1 = await find(store, 'sales');
    assert.deepEqual(leads, [{ companyId: 'acme', branchId: 'north', departmentId: 'sales', lead: lead1 }]);
    const nowhere: LeadScope = { level: 'COMPANY', companyId: 'a\0' };
    assert.deepEqual(await searchAll(store, { scope: nowhere, limit: 10 }), []);
  }),

  check('search: a search over many leads ends early, and the next one continues', async ({ store }) => {
    await apply(store, ACME);
    await stamp(store, [lead('first', { fields: { fullName: 'Ada' } })]);
    for (let batch = 0; batch < 11; batch += 1)
      await stamp(
        store,
        Array.from({ length: 1000 }, (_, index) => lead(`${batch}-${index}`, { fields: { fullName: 'Bo' } })),
      );
    const { leads, next } = await store.searchLeads({ scope: ALL_OF_ACME, text: 'ada', limit: 100 });
    assert(leads.length === 0 && next !== undefined, 'a page that has not searched all leads may be empty');
    assert.deepEqual(await searchAll(store, { text: 'ada', limit: 100 }), ['first']);
  }),

  check('search: long texts are compared', async ({ store }) => {
    await apply(store, ACME);
    const ids = Array.from({ length: 100 }, (_, index) => `lead-${index}`);
    for (const id of ids) {
      const long = (id === 'lead-50' ? '\u00e9' : 'e').repeat(10_000);
      await stamp(store, [lead(id, { fields: { fullName: long, firstName: long, email: long } })]);
    }
    assert.deepEqual(await searchAll(store, { text: 'e'.repeat(200), limit: 100 }), ids.reverse());
  }),

  check('search: a search whose time is up ends with what it has', async ({ store }) => {
    await apply(store, ACME);
    const names = ['Ada', ...Array<string>(500).fill('Bo'), 'Ada'];
    const stamps = await stamp(
      store,
      names.map((fullName, index) => lead(`${index}`, { fields: { fullName } })),
    );
    const search = { scope: ALL_OF_ACME, text: 'ada', limit: 10 };
    const { leads, next = 0 } = await store.searchLeads({ ...search, isTimeUp: () => true });
    assert.deepEqual(
      leads.map((stored) => stored.lead.id),
      ['501'],
    );
    assert(next > (stamps[0] ?? 0), 'the next search continues');
    assert.deepEqual(await searchAll(store, { text: 'ada', before: next, limit: 10 }), ['0']);
  }),

  check('search: after a disconnect no further step is read', async ({ store }) => {
    await apply(store, ACME);
    await stamp(
      store,
      Array.from({ length: 500 }, (_, index) => lead(`${index}`)),
    );
    const client = new AbortController();
    let steps = 0;
    const isTimeUp = () => {
      steps += 1;
      client.abort(new Error('disconnected'));
      return false;
    };
    const search = store.searchLeads({ scope: ALL_OF_ACME, text: 'ada', limit: 10, isTimeUp }, client.signal);
    await assert.rejects(search, { message: 'disconnected' });
    assert.equal(steps, 1);
  }),

  check('search: companies take turns', async ({ store }) => {
    await apply(store, ACME, GLOBEX);
    const many = (companyId: string) =>
      Array.from({ length: 500 }, (_, index) => lead(`${index}`, { companyId }));
    await stamp(store, [...many('acme'), ...many('globex')]);
    let [steps, ownSteps] = [0, 0];
    const search = (companyId: string, isTimeUp: () => boolean) =>
      store.searchLeads({ scope: { level: 'COMPANY', companyId }, text: 'mallory', limit: 10, isTimeUp });
    const others = Array.from({ length: 10 }, () =>
      search('acme', () => {
        steps += 1;
        return false;
      }),
    );
    await search('globex', () => {
      ownSteps += 1;
      return false;
    });
    assert(steps <= ownSteps + 2, `${steps} steps of the other company beside ${ownSteps}`);
    await Promise.all(others);
  }),
];
