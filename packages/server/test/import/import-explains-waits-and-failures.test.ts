import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { importFile } from '../../src/cli/import/import.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { captureStream } from '../cli/capture-stream.ts';

/** An import from standard input that does not really wait or write. */
async function prepare(count: number) {
  const cwd = tempFolder();
  const store = await (await makeTestDatabase()).openStore();
  const write = vi.spyOn(store, 'writeLeads').mockImplementation(allAdded);
  const [stdout, stderr] = [captureStream(), captureStream()];
  const lines = Array.from({ length: count }, (_, id) => `{"companyId":"acme","id":"${id}"}\n`);
  const stdin = Readable.from([lines.join('')]);
  const { signal } = new AbortController();
  const openStore = async () => store;
  const context = { env: {}, cwd, stdin, stdout, stderr, clock: Date.now, signal, openStore };
  const flags = { skipLines: 0, maxErrorsShown: 20 };
  const run = () => importFile('-', flags, context, async () => {});
  return { write, run, stdout, stderr };
}

const allAdded: Store['writeLeads'] = async (leads) => ({
  kind: 'written',
  results: leads.map(({ id = '' }) => ({ kind: 'added', id, createdAt: 0 })),
});

test('only the first wait of a paced import is explained', async () => {
  const { run, stdout, stderr } = await prepare(12_000);
  await run();
  expect(stderr.text()).toMatch(/^A company accepts 1,000 new leads per second.*--historical\.\n$/);
  expect(stdout.text()).toBe('12000 added, 0 updated, 0 rejected\n');
});

test('the failure for an unreachable database says what is saved and how to continue', async () => {
  const { write, run, stdout } = await prepare(1200);
  write.mockRejectedValue(new StoreUnavailableError('unreachable')).mockImplementationOnce(allAdded);
  await expect(run()).rejects.toMatchObject({
    name: 'Failure',
    kind: 'unavailable',
    message: expect.stringContaining('unreachable'),
    fix: [
      'Check LEADTAP_DATABASE_URL, and the file that it names.',
      'Everything up to line 1000 is saved. To continue, run the same command with --skip-lines 1000.',
    ],
  });
  expect(stdout.text()).toBe('1000 added, 0 updated, 0 rejected\n');
});
