// @nightly and after a change of tools/executable/ tools/release/ package-lock.json packages/server/package.json packages/server/bin/
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../../packages/testing/harness/temp-folder.ts';
import { InstalledProgram } from './support/installed-program.ts';
import { PROGRAM_CHECKS } from './support/program-checks.ts';

const BUILD = fileURLToPath(new URL('../../tools/executable/dist/run.js', import.meta.url));
const MEBIBYTE = 2 ** 20;

describe.runIf(process.platform === 'linux')('the single executable', () => {
  let folder: string;

  // Downloads the Node.js of tools/executable/package-lock.json, 55 MiB, if it is not in npm's cache.
  beforeAll(async () => {
    folder = tempFolder(afterAll);
    chmodSync(folder, 0o755);
    await promisify(execFile)(process.execPath, [BUILD, join(folder, 'leadtap')]);
  });

  test('is one file of about 155 MiB', () => {
    expect(readdirSync(folder)).toEqual(['leadtap']);
    const { mode, size } = statSync(join(folder, 'leadtap'));
    expect(mode & 0o111).toBe(0o111);
    expect(size / MEBIBYTE).toBeGreaterThan(145);
    expect(size / MEBIBYTE).toBeLessThan(165);
  });

  // Its folder is all that is on the PATH.
  test.each(PROGRAM_CHECKS)('%s', (_, check) =>
    check(new InstalledProgram({ command: ['leadtap'], env: { PATH: folder } })),
  );
});
