import { describe, expect, it } from 'vitest';
import { setClockBackOnEmptyFeed } from '../../../../testing/delivery-trial/actors/forced.ts';
import { findingsOf } from '../../../../testing/delivery-trial/findings.ts';
import { mutateSqlite } from '../../../../testing/delivery-trial/mutations.ts';
import {
  changeAndPollFile,
  reinsertDuringDeleteInFile,
} from '../../../../testing/delivery-trial/sqlite/forced.ts';
import { makeTestTrial } from '../../../../testing/harness/delivery-trial.ts';

describe('a program that changes and deletes leads in the file', () => {
  it('is seen by every client after each commit', async () => {
    const scene = await makeTestTrial({ isQuiet: true });
    await changeAndPollFile(scene);
    expect(findingsOf(await scene.trial.finish())).toEqual({});
  });

  it('loses no lead that is written again while it is being deleted', async () => {
    const scene = await makeTestTrial({ isQuiet: true });
    await reinsertDuringDeleteInFile(scene);
    expect(findingsOf(await scene.trial.finish())).toEqual({});
  });
});

describe('a deliberate defect of the schema is seen', () => {
  it('no-change-log: pages show deleted leads and old versions', async () => {
    const scene = await makeTestTrial();
    await mutateSqlite(scene.file, 'no-change-log');
    await changeAndPollFile(scene);
    expect(Object.keys(findingsOf(await scene.trial.finish()))).toContain('stale');
  });

  it('clock-stamps: leads are stamped before leads that were visible earlier', async () => {
    const scene = await makeTestTrial({ isClockStepped: true });
    await mutateSqlite(scene.file, 'clock-stamps');
    await changeAndPollFile(scene);
    await setClockBackOnEmptyFeed(scene);
    expect(Object.keys(findingsOf(await scene.trial.finish()))).toEqual(
      expect.arrayContaining(['lost', 'broken']),
    );
  });
});
