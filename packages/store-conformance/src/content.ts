import assert from 'node:assert/strict';
import { DEFAULT_LEAD_FIELDS } from '../../server/src/leads/row.ts';
import { check } from './check.ts';
import { FULL, fieldsOf, withText } from './fields.ts';
import { ACME, apply, bare, find, idsOf, lead, poll, user, write } from './sample.ts';

const TEXTS = [
  '',
  ' ',
  ' in between ',
  'null',
  '0',
  "O'Brien; DROP TABLE leads; --",
  '"quoted" \\ back\\slash %s $1 ? :name',
  'first line\nsecond\tline\r\n',
  'Zoë Müller-Łukasz',
  'e\u0301 and \u00e9 stay what they are',
  'مرحبا שלום 你好 こんにちは',
  '👩‍👩‍👧‍👦 🏠',
  '\u{10ffff}\ufeff\u200b',
  'x'.repeat(10_000),
];

const CUSTOM_FIELDS: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { '': '', ' ': null, 'a.b': [1, 'two', null, { three: 3 }], "it's": true },
  { number: 0.1, large: 9007199254740991, negative: -1e-7, empty: [], nested: { deep: { deeper: {} } } },
  { ключ: 'значение', emoji: '🏠', text: 'e\u0301\n"\\' },
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
  { long: 'y'.repeat(60_000) },
  Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field ${index}`, index])),
  // Nearly 64 KiB, as much as an import accepts, in the forms that take the most bytes with spaces.
  { numbers: Array.from({ length: 32_700 }, () => 1) },
  Object.fromEntries(Array.from({ length: 6_500 }, (_, index) => [`f${index}`, 1])),
];

/** Of the longest length that is allowed. */
const longest = (first: string) => first + 'é'.repeat(199);

const INSTANTS = [0, -1, Date.UTC(1969, 6, 20, 20, 17, 40, 123), Date.UTC(9999, 11, 31, 23, 59, 59, 999)];

export const contentChecks = [
  check('content: a lead of which nothing is said has the defaults', async ({ store }) => {
    await apply(store, ACME);
    await write(store, [lead('1')]);
    const found = await find(store, '1');
    assert.deepEqual(fieldsOf(found), DEFAULT_LEAD_FIELDS);
    const { companyName, branchName, departmentName } = found;
    assert.deepEqual([companyName, branchName, departmentName], ['Acme', null, null]);
    assert.deepEqual(found.status, { value: 'NEW', label: 'New', color: '#2563eb', final: false });
  }),

  check('content: every field comes back as it went in', async ({ store }) => {
    await apply(store, ACME);
    await write(store, [lead('1', { fields: FULL, departmentId: 'sales' })]);
    const found = await find(store, '1');
    assert.deepEqual(fieldsOf(found), FULL);
    assert.deepEqual([found.branchName, found.departmentName], ['North', 'Sales']);
  }),

  check('content: every text comes back character for character', async ({ store }) => {
    await apply(store, ACME);
    for (const text of TEXTS) {
      const fields = withText(text);
      await write(store, [lead('1', { fields })]);
      assert.deepEqual(fieldsOf(await find(store, '1')), fields);
    }
  }),

  check('content: custom fields come back whole', async ({ store }) => {
    await apply(store, ACME);
    for (const customFields of CUSTOM_FIELDS) {
      await write(store, [lead('1', { fields: { customFields } })]);
      assert.deepEqual((await find(store, '1')).customFields, customFields);
    }
  }),

  check('content: many images keep their order', async ({ store }) => {
    await apply(store, ACME);
    const images = Array.from({ length: 50 }, (_, index) => `https://example.com/${50 - index}.jpg`);
    await write(store, [lead('1', { fields: { images } })]);
    assert.deepEqual((await find(store, '1')).images, images);
  }),

  check('content: an appointment may lie at any time, to the millisecond', async ({ store }) => {
    await apply(store, ACME);
    for (const appointmentDateTime of INSTANTS) {
      await write(store, [lead('1', { fields: { appointmentDateTime } })]);
      assert.equal((await find(store, '1')).appointmentDateTime, appointmentDateTime);
    }
  }),

  check('content: ids of 200 characters are as good as any', async ({ store }) => {
    const [companyId, branchId, departmentId] = [longest('c'), longest('b'), longest('d')];
    const departments = [{ id: departmentId, name: 'D' }];
    const member = user(longest('u'), { accessLevel: 'DEPARTMENT', branchId, departmentId });
    const branches = [{ id: branchId, name: 'B', departments }];
    await apply(store, bare(companyId, { branches, users: [member] }));
    assert.deepEqual(await store.findUser(member.id), { ...member, companyId });
    await write(store, [lead(longest('l'), { companyId, branchId, departmentId })]);
    const { leads } = await poll(store, { scope: { level: 'DEPARTMENT', companyId, departmentId } });
    assert.deepEqual(idsOf(leads), [longest('l')]);
  }),

  check('content: ids that only look alike are different leads', async ({ store }) => {
    await apply(store, ACME);
    const ids = ['id', 'ID', 'id ', ' id', 'i\u0301d', '\u00edd', '1', '01', '1.0', "i'd", 'i"d', 'i%', '🏠'];
    const results = await write(
      store,
      ids.map((id) => lead(id)),
    );
    assert.deepEqual([...new Set(results.map(({ kind }) => kind))], ['added']);
    assert.deepEqual(idsOf((await poll(store)).leads), ids);
  }),
];
