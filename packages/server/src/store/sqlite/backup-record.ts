/** The time of the last `leadtap backup`, in a small file beside the database: a restored database would have the one before. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { toIso } from '../../lib/clock.ts';
import { systemCode } from '../../lib/system-error.ts';

const recordOf = (file: string): string => `${file}.last-backup`;

/** Readable for all: the service may run as another user than the backup. */
export async function writeBackupTime(file: string, at: number): Promise<void> {
  const draft = `${recordOf(file)}.draft`;
  await writeFile(draft, `${toIso(at)}\n`, { mode: 0o644 });
  await rename(draft, recordOf(file));
}

/** Undefined if no backup is known. */
export async function readBackupTime(file: string): Promise<number | undefined> {
  try {
    const at = Date.parse((await readFile(recordOf(file), 'utf8')).trim());
    return Number.isNaN(at) ? undefined : at;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
