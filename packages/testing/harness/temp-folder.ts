import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export type WhenDone = (cleanUp: () => void | Promise<void>) => void;

/** A folder of the test's own, removed when the test ends. */
export function tempFolder(whenDone: WhenDone = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-test-'));
  whenDone(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
