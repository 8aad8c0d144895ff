import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WITHOUT_FASTIFY = ['@leadtap/client', '@leadtap/client/file', '@leadtap/contract'];
const ALL = [...WITHOUT_FASTIFY, 'leadtap', 'leadtap/conformance'];

const OPTIONS = [
  '--noEmit --strict --skipLibCheck false --pretty false --types node',
  '--target es2022 --lib es2023 --module nodenext --moduleResolution nodenext',
].flatMap((options) => options.split(' '));

/** The errors of a program that imports these packages and does not skip the check of declarations. */
async function errorsOf(typescript: string, packages: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const imports = packages.map((name, index) => `export * as part${index} from '${name}';\n`);
  writeFileSync(join(folder, 'consumer.ts'), imports.join(''));
  const tsc = join(ROOT, 'node_modules', typescript, 'bin/tsc');
  const run = promisify(execFile)(process.execPath, [tsc, ...OPTIONS, 'consumer.ts'], { cwd: folder });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return stdout.split('\n').filter((line) => / error TS/.test(line));
}

const isOfFastify = (error: string): boolean => error.includes('/node_modules/fastify/');

describe('declarations are right without skipLibCheck', () => {
  test('in TypeScript 5.4: all packages', { timeout: 600_000 }, async () => {
    expect(await errorsOf('typescript-5.4', ALL)).toEqual([]);
  });

  test('in TypeScript 5.0: the client and the contract', { timeout: 600_000 }, async () => {
    expect(await errorsOf('typescript-5.0', WITHOUT_FASTIFY)).toEqual([]);
  });

  test('in TypeScript 5.0: those of the server, but not those of Fastify itself', {
    timeout: 600_000,
  }, async () => {
    const errors = await errorsOf('typescript-5.0', ALL);
    expect(errors.filter((error) => !isOfFastify(error))).toEqual([]);
  });
});
