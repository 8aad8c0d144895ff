import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { tempFolder, type WhenDone } from '../../../testing/harness/temp-folder.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const PROGRAMS = join(ROOT, 'examples/embedding');
const COMPILER_OPTIONS = {
  strict: true,
  skipLibCheck: true,
  exactOptionalPropertyTypes: true,
  target: 'es2023',
  module: 'nodenext',
  types: ['node'],
};

/** Compiles the programs with the compiler and the built packages of the repository. Returns their folder. */
export async function compilePrograms(whenDone: WhenDone): Promise<string> {
  const folder = tempFolder(whenDone);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
  cpSync(PROGRAMS, folder, { recursive: true });
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
  const child = spawn(process.execPath, [file], {
    env: { PORT: '0', LEADS_FILE: join(tempFolder(), 'leads.db') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill();
    await once(child, 'close');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => (await lines.next()).value ?? '';
  return { url: await line(), line };
}
