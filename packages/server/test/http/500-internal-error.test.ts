import { describe, expect, it } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { injectPoll, makeEndpoint, type StubQueries } from '../../../testing/harness/endpoint.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

const SECRET = 'SELECT password FROM users';

/** Values that a store may throw. */
const THROWN: [string, () => unknown][] = [
  ['an error', () => new Error(SECRET)],
  ['an error with a status of its own', () => Object.assign(new Error(SECRET), { statusCode: 404 })],
  [
    'an error with a status and a code of its own',
    () => Object.assign(new Error(SECRET), { statusCode: 404, code: 'NoSuchTable' }),
  ],
  ['an error with a code', () => Object.assign(new Error(SECRET), { code: 'ECONNREFUSED' })],
  ['an error with headers', () => Object.assign(new Error(SECRET), { headers: { 'x-secret': SECRET } })],
  ['a frozen error', () => Object.freeze(new Error(SECRET))],
  ['an error with a cause', () => new Error('outer', { cause: new Error(SECRET) })],
  ['several errors', () => new AggregateError([new Error(SECRET)], SECRET)],
  ['a text', () => SECRET],
  ['a number', () => 42],
  ['null', () => null],
  ['undefined', () => undefined],
  ['an object', () => ({ statusCode: 200, message: SECRET })],
];

const METHODS: (keyof StubQueries)[] = ['findUser', 'readPage'];

describe.each(METHODS)('500 internal-error, when %s of the store', (method) => {
  it.each(THROWN)('throws %s', async (_what, thrown) => {
    const store = { [method]: () => Promise.reject(thrown()) };
    const answer = await injectPoll(makeEndpoint(store));
    await expectProblem(answer, 'internal-error');
    expect(`${answer.body}${JSON.stringify(answer.headers)}`).not.toMatch(
      /select|password|stack|at |\.ts|\.js|node_modules|outer|statusCode/i,
    );
  });

  it('throws synchronously', async () => {
    const store = {
      [method]: () => {
        throw new Error(SECRET);
      },
    };
    await expectProblem(await injectPoll(makeEndpoint(store)), 'internal-error');
  });
});

describe('500 internal-error', () => {
  it('occurs for a user without the place of the access level, who must see no lead', async () => {
    const user = {
      id: 'boss',
      companyId: 'acme',
      email: null,
      name: null,
      plan: 'PROFESSIONAL',
      accessLevel: 'BRANCH',
      branchId: null,
      departmentId: null,
    } as const;
    const answer = await injectPoll(makeEndpoint({ findUser: async () => user }));
    await expectProblem(answer, 'internal-error');
  });

  it('logs the cause with the request id of the response', async () => {
    const lines: string[] = [];
    const { poll } = await startService({
      logTo: { write: (line) => void lines.push(line) },
      prepare: ({ store }) =>
        void beforeQuestion(store, 'readLeads', () => Promise.reject(new Error(SECRET))),
    });
    const { requestId } = await expectProblem(await poll('boss'), 'internal-error');
    const line = lines.find((text) => text.includes(SECRET));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ requestId, code: 'internal-error' });
  });

  it('ends with its cause', async () => {
    const { poll, store } = await startService();
    const issue = beforeQuestion(store, 'readLeads', () => Promise.reject(new Error(SECRET)));
    expect((await poll('boss')).status).toBe(500);
    issue();
    expect((await poll('boss')).status).toBe(200);
  });
});
