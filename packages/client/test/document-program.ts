import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { tempFolder } from '../../testing/harness/temp-folder.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A file with a program, or the one program of a document, without the indent of the list that it stands in. */
export function programOf(path: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (path.endsWith('.mjs')) return text;
  const [block, ...more] = [...text.matchAll(/^( *)```js\n([\s\S]+?)^ *```$/gm)];
  if (!block || more.length > 0) throw new Error(`${path} must have one js block`);
  const [, indent = '', code = ''] = block;
  return code.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
}

/** A folder in which the client is installed, as it was built. */
export function folderWith(program: string): string {
  const folder = tempFolder();
  mkdirSync(join(folder, 'node_modules/@leadtap'), { recursive: true });
  symlinkSync(join(ROOT, 'packages/client'), join(folder, 'node_modules/@leadtap/client'), 'junction');
  writeFileSync(join(folder, 'program.mjs'), program);
  return folder;
}

/** Runs the program there, as long as the test does. Gives the lines that it prints. */
export function runIn(folder: string, env: Record<string, string>): AsyncIterator<string> {
  const child = spawn(process.execPath, ['program.mjs'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}
