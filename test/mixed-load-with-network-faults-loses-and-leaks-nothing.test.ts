// @nightly and after a change of tools/soak/ packages/testing/delivery-trial/ packages/server/src/lib/ packages/server/src/limits/ packages/server/src/store/postgres/
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { soak } from './run-soak.ts';

/** Each starts a dozen processes, also on a busy machine. Only a trial that hangs comes to this end. */
const SLOW = { timeout: 1_800_000 };

/** Limited by what happens: each kind of fault once between instances and clients, database and Redis. */
async function runShortForm(...args: readonly string[]) {
  const file = join(tempFolder(), 'report.json');
  const { code, stdout, stderr } = await soak('--mixed', '--companies', '1', '--report', file, ...args);
  const output = `${stdout}${stderr}`;
  const report = JSON.parse(readFileSync(file, 'utf8'));
  expect(report.verdict, output).not.toBe('not finished');
  return { code, output, report };
}

const LINKS = ['clients', 'database', 'Redis'];
const KINDS = ['cut', 'delay', 'half-open', 'reset', 'slow bytes'];

test(
  'three instances with mixed load lose, double and leak nothing, and have no undeclared error',
  SLOW,
  async () => {
    const { code, output, report } = await runShortForm('--seconds', '8');
    expect(code, output).toBe(0);
    expect(report).toMatchObject({ verdict: 'passed', instances: 3 });
    expect(Object.keys(report.findings)).toEqual(
      expect.arrayContaining(['lost', 'doubled', 'missing', 'undeclared', 'leaked']),
    );
    // The trial has done what it is for.
    expect(Object.keys(report.faults)).toEqual(
      expect.arrayContaining(LINKS.flatMap((link) => KINDS.map((kind) => `network: ${kind}, ${link}`))),
    );
    const { leads, polls, requests, ...figures } = report.figures;
    for (const count of [leads, polls, requests, figures['private pages']]) expect(count).toBeGreaterThan(0);
  },
);

test('the trial detects an instance that leaks a handle for each connection of a client', SLOW, async () => {
  const { code, output, report } = await runShortForm(
    ...['--seconds', '2', '--instances', '1', '--mutation', 'leaked-handle'],
  );
  expect(code, output).toBe(1);
  expect(report.findings.leaked.count, output).toBeGreaterThan(0);
  expect(report.findings.leaked.first[0]).toMatch(/open files and sockets: \d+, then \d+/);
});
