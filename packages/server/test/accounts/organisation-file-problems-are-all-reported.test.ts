import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseOrganisation } from '../../src/accounts/organisation.ts';

const company = (parts: object = {}) => ({ companies: [{ id: 'soleil', name: 'Soleil Roofing', ...parts }] });
const BRANCHES = [
  { id: 'lyon', name: 'Lyon', departments: [{ id: 'repairs', name: 'Repairs' }] },
  { id: 'nice', name: 'Nice' },
];
const user = (parts: object = {}) => ({ id: 'ada', plan: 'PROFESSIONAL', accessLevel: 'COMPANY', ...parts });
const withUser = (parts: object) => company({ branches: BRANCHES, users: [user(parts)] });
const status = (parts: object = {}) => ({
  value: 'NEW',
  label: 'New',
  color: '#2563eb',
  final: false,
  ...parts,
});

function problemsOf(json: unknown): string[] {
  const parsed = parseOrganisation(json);
  return parsed.kind === 'ok' ? [] : parsed.problems.map(({ path, detail }) => `${path} ${detail}`);
}

function userOf(json: unknown) {
  const parsed = parseOrganisation(json);
  return parsed.kind === 'ok' ? parsed.organisation.companies[0]?.users[0] : parsed.problems;
}

test('a company needs only an id and a name', () => {
  expect(parseOrganisation(company())).toEqual({
    kind: 'ok',
    organisation: { companies: [{ id: 'soleil', name: 'Soleil Roofing', branches: [], users: [] }] },
  });
});

test('a complete company is read without changes', () => {
  const given = company({ statuses: [status()], branches: BRANCHES, users: [user({ name: 'Ada' })] });
  expect(parseOrganisation(given)).toEqual({
    kind: 'ok',
    organisation: {
      companies: [
        {
          id: 'soleil',
          name: 'Soleil Roofing',
          statuses: [status()],
          branches: [BRANCHES[0], { ...BRANCHES[1], departments: [] }],
          users: [{ ...user(), name: 'Ada', branchId: null, departmentId: null }],
        },
      ],
    },
  });
});

test('all problems are reported together, with their paths', () => {
  const broken = {
    companies: [
      {
        name: '',
        colour: 'red',
        branches: [{ id: 'lyon' }],
        users: [user(), user({ id: 'bob', plan: 'pro' })],
      },
      'acme',
    ],
  };
  expect(problemsOf(broken)).toEqual([
    'companies[0].id is missing',
    'companies[0].colour is not known here; known are id, name, statuses, branches, users',
    'companies[0].name must not be empty',
    'companies[0].branches[0].name is missing',
    'companies[0].users[1].plan must be an upper-case word, such as PROFESSIONAL',
    'companies[1] must be an object',
  ]);
});

test('mistakes in values and in references are reported together', () => {
  const users = [user({ plan: 'pro' }), user({ accessLevel: 'BRANCH', branchId: 'oslo' })];
  expect(problemsOf(company({ users }))).toEqual([
    'companies[0].users[0].plan must be an upper-case word, such as PROFESSIONAL',
    'companies[0].users[1].id "ada" is used before, at companies[0].users[0].id',
    'companies[0].users[1].branchId "oslo" is not a branch of this company in this file',
  ]);
});

test('more than a few problems are all reported', () => {
  const users = Array.from({ length: 100 }, (_, n) => user({ id: `user-${n}`, plan: 'pro' }));
  expect(problemsOf(company({ users }))).toHaveLength(100);
});

describe('other JSON', () => {
  test.each([
    [null, ' must be an object'],
    [[], ' must be an object'],
    [{}, 'companies is missing'],
    [{ companies: {} }, 'companies must be an array'],
    [{ companies: [], 'odd key': 1 }, '["odd key"] is not known here; known are companies'],
    [company({ branches: null }), 'companies[0].branches must be an array'],
    [company({ statuses: null }), 'companies[0].statuses must be an array'],
  ])('%j', (json, problem) => expect(problemsOf(json)[0]).toBe(problem));
});

describe('ids and names', () => {
  test.each([
    ['', 'must not be empty'],
    [7, 'must be a string'],
    ['x'.repeat(201), 'must have at most 200 characters, not 201'],
    ['a\u0000b', 'must not hold control or broken characters'],
    ['a\nb', 'must not hold control or broken characters'],
    ['a\ud800', 'must not hold control or broken characters'],
    ['a\u2028b', 'must not hold control or broken characters'],
    ['a\u2029b', 'must not hold control or broken characters'],
  ])('the id %j is rejected', (id, detail) =>
    expect(problemsOf(company({ id }))).toEqual([`companies[0].id ${detail}`]),
  );

  test('200 characters of any script are accepted', () => {
    expect(problemsOf(company({ id: 'é'.repeat(200), name: '株'.repeat(200) }))).toEqual([]);
  });
});

describe('ids that are used twice', () => {
  test('a company, a branch, a department, a user, a status', () => {
    const department = { id: 'repairs', name: 'Repairs' };
    const twice = {
      companies: [
        {
          id: 'a',
          name: 'A',
          statuses: [status(), status()],
          branches: [
            { id: 'b', name: 'B', departments: [department] },
            { id: 'b', name: 'B', departments: [department] },
          ],
          users: [user()],
        },
        { id: 'a', name: 'A', users: [user()] },
      ],
    };
    expect(problemsOf(twice)).toEqual([
      'companies[0].statuses[1].value "NEW" is used before, at companies[0].statuses[0].value',
      'companies[0].branches[1].id "b" is used before, at companies[0].branches[0].id',
      'companies[0].branches[1].departments[0].id "repairs" is used before, at companies[0].branches[0].departments[0].id',
      'companies[1].id "a" is used before, at companies[0].id',
      'companies[1].users[0].id "ada" is used before, at companies[0].users[0].id',
    ]);
  });

  test('two companies may use the same ids for branches, departments and statuses', () => {
    const parts = { statuses: [status()], branches: BRANCHES };
    const file = {
      companies: [
        { id: 'a', name: 'A', ...parts },
        { id: 'b', name: 'B', ...parts },
      ],
    };
    expect(problemsOf(file)).toEqual([]);
  });
});

describe('statuses', () => {
  test('an empty catalogue is rejected', () =>
    expect(problemsOf(company({ statuses: [] }))[0]).toContain('must list at least one status'));

  test.each([
    [{ value: 'new' }, 'value must be an upper-case word, such as NEW'],
    [{ label: '' }, 'label must not be empty'],
    [{ color: 'blue' }, 'color must be a colour, such as #2563eb'],
    [{ color: '#12345' }, 'color must be a colour, such as #2563eb'],
    [{ final: 'no' }, 'final must be true or false'],
  ])('%j is rejected', (parts, problem) =>
    expect(problemsOf(company({ statuses: [status(parts)] }))).toEqual([
      `companies[0].statuses[0].${problem}`,
    ]),
  );
});

describe('the branch and department of a user', () => {
  test.each([
    [{ accessLevel: 'BRANCH', branchId: 'lyon' }, 'lyon', null],
    [{ accessLevel: 'DEPARTMENT', departmentId: 'repairs' }, 'lyon', 'repairs'],
    [{ accessLevel: 'DEPARTMENT', departmentId: 'repairs', branchId: 'lyon' }, 'lyon', 'repairs'],
    [{ accessLevel: 'BRANCH', branchId: 'lyon', departmentId: 'repairs' }, 'lyon', null],
    [{ accessLevel: 'COMPANY', branchId: 'nice' }, null, null],
    [{ accessLevel: 'COMPANY', branchId: null, departmentId: null, email: null, name: null }, null, null],
  ])('%j', (parts, branchId, departmentId) =>
    expect(userOf(withUser(parts))).toMatchObject({ branchId, departmentId }),
  );

  test.each([
    [{ accessLevel: 'REGION' }, 'accessLevel must be one of COMPANY, BRANCH, DEPARTMENT'],
    [{ accessLevel: 'BRANCH' }, 'branchId is needed for the access level BRANCH'],
    [
      { accessLevel: 'DEPARTMENT', branchId: 'lyon' },
      'departmentId is needed for the access level DEPARTMENT',
    ],
    [
      { accessLevel: 'BRANCH', branchId: 'oslo' },
      'branchId "oslo" is not a branch of this company in this file',
    ],
    [
      { accessLevel: 'DEPARTMENT', departmentId: 'sales' },
      'departmentId "sales" is not a department of this company in this file',
    ],
    [
      { accessLevel: 'DEPARTMENT', departmentId: 'repairs', branchId: 'nice' },
      'branchId must be "lyon", the branch of the department',
    ],
  ])('%j is rejected', (parts, problem) =>
    expect(problemsOf(withUser(parts))).toEqual([`companies[0].users[0].${problem}`]),
  );

  test('a branch of another company is rejected', () => {
    const file = {
      companies: [
        { id: 'a', name: 'A', branches: BRANCHES },
        { id: 'b', name: 'B', users: [user({ accessLevel: 'BRANCH', branchId: 'lyon' })] },
      ],
    };
    expect(problemsOf(file)[0]).toContain('is not a branch of this company');
  });
});

test('the parser throws for no JSON value, and accepts only complete files', () => {
  const near = fc.record({
    companies: fc.array(fc.object({ key: fc.constantFrom('id', 'name', 'users', 'branches') })),
  });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), near), (json) => {
      const parsed = parseOrganisation(json);
      if (parsed.kind === 'invalid') expect(parsed.problems.length).toBeGreaterThan(0);
      else for (const { id, name } of parsed.organisation.companies) expect(id && name).toBeTruthy();
    }),
  );
});
