import { expect, onTestFinished, test } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { importLeads } from '../../src/import/import-leads.ts';
import { goodLines, inChunks } from './support/run-import.ts';

test('an import into a company whose stamps are an hour ahead of the clock does not wait', async () => {
  const clock = manualClock();
  const store = await (await makeTestDatabase()).openStore({ clock });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  await store.writeLeads([{ companyId: 'acme', id: 'before', fields: {} }]);
  clock.advance(-3_600_000);
  const stop = new AbortController();
  const waits: number[] = [];
  const outcome = await importLeads({
    lines: inChunks(goodLines(2500), 500),
    store,
    historical: false,
    skippedLines: 0,
    newId: () => 'unused',
    // This clock never advances, so the first wait ends the import.
    elapsedMs: () => 0,
    sleep: async (ms, signal) => {
      if (signal !== stop.signal) return;
      waits.push(ms);
      stop.abort();
    },
    signal: stop.signal,
    observer: {
      onRejected: () => undefined,
      onCommitted: async () => undefined,
      onWithoutId: async () => undefined,
      onPaced: async () => undefined,
    },
  });
  expect(waits).toEqual([]);
  expect(outcome).toMatchObject({ kind: 'finished', counts: { added: 2500 } });
});
