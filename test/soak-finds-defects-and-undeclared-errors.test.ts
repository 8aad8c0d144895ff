import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROBLEM_CODES, PROBLEM_MEDIA_TYPE, PROBLEMS, problemType } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { findUndeclared } from '../packages/testing/delivery-trial/declared.ts';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { InstanceLog } from '../tools/soak/instance-log.ts';
import { soak } from './run-soak.ts';

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

test('a trial of a schema with a defect finds it and reports it', async () => {
  const file = join(tempFolder(), 'report.json');
  const size = ['--store', 'sqlite', '--seconds', '1', '--seed', '7', '--companies', '1', '--instances', '1'];
  const { code, stderr } = await soak(
    ...[...size, '--actors', 'package', '--mutation', 'no-change-log', '--report', file],
  );
  expect([code, stderr]).toEqual([1, '']);
  const report = JSON.parse(readFileSync(file, 'utf8'));
  expect(report).toMatchObject({ verdict: 'failed', store: 'sqlite', seed: 7 });
  expect(report.mutations).toEqual({ 'no-change-log': 'found' });
  expect(report.findings.stale.count).toBeGreaterThan(0);
  expect(report.figures.leads).toBeGreaterThan(0);
  expect(report.figures.polls).toBeGreaterThan(0);
});
