import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { importFile } from '../../src/cli/leads/import.ts';
import type { WithStore } from '../../src/cli/with-store.ts';
import { parseConfig } from '../../src/config.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { paper } from '../cli/terminal.ts';
import { ORGANISATION } from '../harness/organisation.ts';
import { tempFolder } from '../harness/temp-folder.ts';

/** An import from standard input whose waits pass at once. */
async function prepare(count: number) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }).setTimerTickMode('nextTimerAsync');
  onTestFinished(() => void vi.useRealTimers());
  const cwd = tempFolder();
  const store = await openSqliteStore({ file: join(cwd, 'leadtap.db') });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  const withStore: WithStore = (use) => use(store, parseConfig({ env: {}, cwd }));
  const [stdout, stderr] = [paper(), paper()];
  const lines = Array.from({ length: count }, (_, id) => `{"companyId":"acme","id":"${id}"}\n`);
  const stdin = Readable.from([lines.join('')]);
  const { signal } = new AbortController();
  const context = { env: {}, cwd, stdin, stdout, stderr, clock: Date.now, signal };
  const run = () => importFile('-', { skipLines: 0, maxErrorsShown: 20 }, context, withStore);
  return { store, run, stdout, stderr };
}

test('the first wait for a company that is too far ahead is explained, and the others are not', async () => {
  const { store, run, stdout, stderr } = await prepare(3);
  const write = vi.spyOn(store, 'writeLeads');
  write.mockResolvedValueOnce({ kind: 'too-far-ahead', waitMs: 60_000 });
  write.mockResolvedValueOnce({ kind: 'too-far-ahead', waitMs: 60_000 });
  await run();
  expect(stderr.text()).toMatch(/^A company takes 1,000 new leads a second.*--historical\.\n$/);
  expect(stdout.text()).toBe('3 added, 0 updated, 0 rejected\n');
});

test('a database that stays away is a failure that says what is saved and how to go on', async () => {
  const { store, run, stdout } = await prepare(1200);
  const realWrite = store.writeLeads.bind(store);
  const write = vi.spyOn(store, 'writeLeads').mockRejectedValue(new StoreUnavailableError('away'));
  write.mockImplementationOnce(realWrite);
  await expect(run()).rejects.toMatchObject({
    name: 'Failure',
    kind: 'unavailable',
    mend: ['Everything up to line 1000 is saved. To go on, run the same command with --skip-lines 1000.'],
  });
  expect(stdout.text()).toBe('1000 added, 0 updated, 0 rejected\n');
});
