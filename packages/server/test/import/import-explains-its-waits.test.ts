import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { importFile } from '../../src/cli/import/run.ts';
import { type Store, StoreUnavailableError } from '../../src/store/store.ts';
import { captureStream } from '../cli/capture-stream.ts';

/** An import from standard input whose waits pass at once. */
async function prepare(count: number) {
  const cwd = tempFolder();
  const store = await (await makeTestDatabase()).openStore();
  // A database on another machine has deadlines, and they would pass at once, too: nothing is really written.
  const write = vi.spyOn(store, 'writeLeads').mockImplementation(allAdded);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }).setTimerTickMode('nextTimerAsync');
  onTestFinished(() => void vi.useRealTimers());
  const [stdout, stderr] = [captureStream(), captureStream()];
  const lines = Array.from({ length: count }, (_, id) => `{"companyId":"acme","id":"${id}"}\n`);
  const stdin = Readable.from([lines.join('')]);
  const { signal } = new AbortController();
  const context = {
    env: {},
    cwd,
    stdin,
    stdout,
    stderr,
    clock: Date.now,
    signal,
    openStore: async () => store,
  };
  const run = () => importFile('-', { skipLines: 0, maxErrorsShown: 20 }, context);
  return { write, run, stdout, stderr };
}

const allAdded: Store['writeLeads'] = async (leads) => ({
  kind: 'written',
  results: leads.map(({ id = '' }) => ({ kind: 'added', id, createdAt: 0 })),
});

test('the first wait of an import that is paced is explained, and the others are not', async () => {
  const { run, stdout, stderr } = await prepare(12_000);
  await run();
  expect(stderr.text()).toMatch(/^A company can get 1,000 new leads per second.*--historical\.\n$/);
  expect(stdout.text()).toBe('12000 added, 0 updated, 0 rejected\n');
});

test('a database that stays away is a failure that says why, what is saved and how to go on', async () => {
  const { write, run, stdout } = await prepare(1200);
  write.mockRejectedValue(new StoreUnavailableError('away')).mockImplementationOnce(allAdded);
  await expect(run()).rejects.toMatchObject({
    name: 'Failure',
    kind: 'unavailable',
    message: expect.stringContaining('away'),
    fix: [
      'Check LEADTAP_DATABASE_URL, and the file that it names.',
      'Everything up to line 1000 is saved. To continue, run the same command with --skip-lines 1000.',
    ],
  });
  expect(stdout.text()).toBe('1000 added, 0 updated, 0 rejected\n');
});
