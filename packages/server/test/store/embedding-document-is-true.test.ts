import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { storeConformance } from '@leadtap/store-conformance';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { runToEnd } from './fixture-process.ts';

const root = new URL('../../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** Runs a program of the document in a folder where the built package can be imported by its name. */
async function runExample(program: string) {
  const folder = tempFolder();
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(folder, 'node_modules'));
  const file = join(folder, 'store.test.mjs');
  writeFileSync(file, program);
  return runToEnd(process.execPath, '--no-warnings', '--test-reporter=tap', file);
}

describe('docs/embedding.md', () => {
  it('has a program that runs the whole suite', async () => {
    const [, program = ''] = /```js\n([\s\S]+?)```/.exec(read('docs/embedding.md')) ?? [];
    const { code, stdout } = await runExample(program);
    expect(stdout).toContain(`\n# pass ${storeConformance.length}\n# fail 0\n`);
    expect(code).toBe(0);
  });
});
