import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';

it('only the owner can read the database and its log, also in a folder that others may enter', async () => {
  const folder = tempFolder();
  const store = await openSqliteStore({ file: join(folder, 'leadtap.db') });
  onTestFinished(() => store.close());
  const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
  expect(modes.length).toBeGreaterThan(1);
  expect(new Set(modes)).toEqual(new Set([0o600]));
});
