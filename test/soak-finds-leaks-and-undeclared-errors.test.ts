import { PROBLEM_CODES, PROBLEM_MEDIA_TYPE, PROBLEMS, problemType } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { findUndeclared } from '../packages/testing/delivery-trial/declared.ts';
import { InstanceLog } from '../tools/soak/instance-log.ts';
import { compareUsage } from '../tools/soak/resources.ts';

const USAGE = { rssMb: 100, heapMb: 30, handles: 40, databaseConnections: 1 };
const compare = (change: Partial<typeof USAGE>, hasMemory = true) =>
  compareUsage([USAGE, USAGE], [USAGE, { ...USAGE, ...change }], { hasMemory });

test('resources that grow by up to 10 % are no leak, more are one', () => {
  expect(compare({ rssMb: 110, heapMb: 33, handles: 44, databaseConnections: 2 })).toEqual([]);
  expect(compare({ handles: 45 })).toEqual(['instance 2: open files and sockets: 40, then 45']);
  expect(compare({ databaseConnections: 3 })).toEqual(['instance 2: database connections: 1, then 3']);
  // Free pages of the heap are in it.
  expect(compare({ rssMb: 200 })).toEqual([]);
  expect(compare({ heapMb: 33.1 })).toEqual(['instance 2: heap after garbage collection, MB: 30, then 33.1']);
});

test('a short run says nothing about memory', () => {
  expect(compare({ rssMb: 200, heapMb: 60 }, false)).toEqual([]);
  expect(compare({ handles: 80 }, false)).toHaveLength(1);
});

const unavailable = (message: string) => ({
  ...{ level: 'error', msg: 'The service cannot answer right now' },
  err: { type: 'StoreUnavailableError', message },
});

test('log lines at level error are declared if docs/faults.md has their cause', () => {
  const log = new InstanceLog();
  log.read(0, unavailable('the database cannot be reached: read ECONNRESET'));
  log.read(0, { level: 'info', msg: 'request', method: 'GET', status: 503 });
  log.read(0, { level: 'warn', msg: 'webhook event failed; it is sent again', status: 500 });
  expect(log.undeclared).toEqual([]);
  log.read(0, unavailable('the database is damaged'));
  log.read(1, {
    level: 'error',
    msg: 'a response could not be sent',
    err: { type: 'TypeError', message: 'x' },
  });
  log.read(2, { level: 'info', msg: 'request', method: 'GET', status: 500 });
  log.read(2, { level: 'error', msg: '(node:1) MaxListenersExceededWarning' });
  expect(log.undeclared).toEqual([
    'instance 1: The service cannot answer right now: the database is damaged',
    'instance 2: a response could not be sent: x',
    'instance 3: request 500',
    'instance 3: (node:1) MaxListenersExceededWarning',
  ]);
});

const problem = (code: (typeof PROBLEM_CODES)[number], parts: object = {}) => ({
  status: PROBLEMS[code].status,
  headers: new Headers({ 'content-type': PROBLEM_MEDIA_TYPE, 'retry-after': '5' }),
  text: JSON.stringify({ code, type: problemType(code) }),
  ...parts,
});

test('a response is declared if it is a problem of the catalogue, with its status and headers', () => {
  for (const code of PROBLEM_CODES)
    expect(findUndeclared(problem(code)) === undefined, code).toBe(code !== 'internal-error');
  expect(findUndeclared(problem('unavailable', { text: undefined }))).toBeUndefined();
  const undeclared = [
    { status: 502 },
    { text: '<h1>Bad Gateway</h1>' },
    { text: '{"code":"unavailable"}' },
    { headers: new Headers({ 'content-type': PROBLEM_MEDIA_TYPE }) },
    { headers: new Headers({ 'content-type': 'application/json', 'retry-after': '5' }) },
  ];
  for (const parts of undeclared)
    expect(findUndeclared(problem('unavailable', parts))).toContain('an undeclared response');
});
