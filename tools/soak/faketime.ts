import { existsSync, readdirSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface SteppedProcessClock {
  /** For the processes whose clock is stepped. */
  readonly env: Readonly<Record<string, string>>;
  offsetMs(): number;
  setOffset(offsetMs: number): Promise<void>;
}

const LIBRARY_ROOT = '/usr/lib';

/** Where Debian has it, whatever the machine is. */
function findLibrary(): string | undefined {
  if (!existsSync(LIBRARY_ROOT)) return undefined;
  return readdirSync(LIBRARY_ROOT)
    .map((folder) => join(LIBRARY_ROOT, folder, 'faketime', 'libfaketimeMT.so.1'))
    .find((file) => existsSync(file));
}

/** Steps the clock of processes while they run, by Debian's `libfaketime`. Undefined where that is not installed. */
export async function steppedProcessClock(folder: string): Promise<SteppedProcessClock | undefined> {
  const library = findLibrary();
  if (library === undefined) return undefined;
  const file = join(folder, 'faketime');
  let offsetMs = 0;
  const setOffset = async (ms: number) => {
    // Put in place in one step: a process may read it at any time.
    await writeFile(`${file}.next`, `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1000}\n`);
    await rename(`${file}.next`, file);
    offsetMs = ms;
  };
  await setOffset(0);
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  return { env, offsetMs: () => offsetMs, setOffset };
}
