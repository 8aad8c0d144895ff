import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { tempFolder, type WhenDone } from '../../../testing/harness/temp-folder.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/embedding.md');
const COMPILER_OPTIONS = {
  strict: true,
  skipLibCheck: true,
  exactOptionalPropertyTypes: true,
  target: 'es2023',
  module: 'nodenext',
  types: ['node'],
};

/** The files in docs/embedding.md: each block begins with a comment that names it. */
function writeFiles(folder: string): void {
  for (const [, file = '', text = ''] of readFileSync(DOCUMENT, 'utf8').matchAll(
    /```ts\n\/\/ ([\w.-]+)\n([\s\S]+?)```/g,
  ))
    writeFileSync(join(folder, file), text);
}

/** Compiles the programs with the compiler and the built packages of the repository. Returns their folder. */
export async function compilePrograms(whenDone: WhenDone): Promise<string> {
  const folder = tempFolder(whenDone);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
  writeFiles(folder);
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  try {
    await promisify(execFile)(process.execPath, [compiler, '--project', folder]);
  } catch (error) {
    throw new Error(`the programs do not compile: ${(error as { stdout?: string }).stdout}`);
  }
  return folder;
}

/** Runs it on a free port. */
export async function runProgram(file: string) {
  const child = spawn(process.execPath, [file], { env: { PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.kill();
    await once(child, 'close');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => (await lines.next()).value ?? '';
  return { url: await line(), line };
}
