import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { makeReport } from '../tools/soak/report-file.ts';
import { soak } from './run-soak.ts';

const RUN = { figures: { leads: 3, polls: 9 }, faults: { 'server crashes': 1 } };
const FLAWLESS = { ...RUN, findings: { lost: [], doubled: [] } };
const REFUSED = { ...RUN, findings: { lost: [], refused: ['a writer ran into its timeout'] } };
const FLAWED = { ...RUN, findings: { lost: ['a client never got a'], doubled: [] } };
const INPUT = {
  args: ['--mutation', 'all', '--report', 'my report.json'],
  options: { store: 'sqlite', seed: 7, instances: 2 },
  source: { commit: 'c0ffee', hasLocalChanges: false },
  startedAt: new Date('2026-03-02T09:30:00Z'),
} as const;

test('a report has seed, commit, store, leads, polls, faults, mutations found, verdict and command', () => {
  const runs = [
    { mutation: undefined, result: FLAWLESS },
    { mutation: 'no-change-log', result: FLAWED },
    { mutation: 'clock-stamps', result: FLAWLESS },
    { mutation: 'no-poll-lock', result: REFUSED },
  ];
  expect(makeReport({ ...INPUT, runs, passed: false })).toEqual({
    verdict: 'failed',
    command: "npm run soak -- --mutation all --report 'my report.json'",
    commit: 'c0ffee',
    hasLocalChanges: false,
    startedAt: '2026-03-02T09:30:00.000Z',
    node: process.version,
    ...{ store: 'sqlite', seed: 7, instances: 2 },
    figures: { leads: 3, polls: 9 },
    faults: { 'server crashes': 1 },
    findings: { lost: { count: 0, first: [] }, doubled: { count: 0, first: [] } },
    mutations: { 'no-change-log': 'found', 'clock-stamps': 'not found', 'no-poll-lock': 'not found' },
  });
});

test('the report of a trial that still runs says so', () => {
  expect(makeReport({ ...INPUT, runs: [] }).verdict).toBe('not finished');
  expect(makeReport({ ...INPUT, runs: [], passed: true }).verdict).toBe('passed');
});

test('a trial of a schema with a defect writes what it has found', async () => {
  const file = join(tempFolder(), 'report.json');
  const args = [
    '--store',
    'sqlite',
    '--seconds',
    '1',
    '--seed',
    '7',
    '--companies',
    '1',
    '--instances',
    '1',
    '--actors',
    'package',
  ];
  const { code, stderr } = await soak(...args, '--mutation', 'no-change-log', '--report', file);
  expect([code, stderr]).toEqual([1, '']);
  const report = JSON.parse(readFileSync(file, 'utf8'));
  expect(report).toMatchObject({ verdict: 'failed', store: 'sqlite', seed: 7 });
  expect(report.mutations).toEqual({ 'no-change-log': 'found' });
  expect(report.findings.stale.count).toBeGreaterThan(0);
  expect(report.figures.leads).toBeGreaterThan(0);
  expect(report.figures.polls).toBeGreaterThan(0);
});

test('a report that cannot be written ends the trial before it begins', async () => {
  const { code, stderr } = await soak(
    '--store',
    'sqlite',
    '--report',
    join(tempFolder(), 'none', 'report.json'),
  );
  expect(code).toBe(1);
  expect(stderr).toContain('ENOENT');
});
