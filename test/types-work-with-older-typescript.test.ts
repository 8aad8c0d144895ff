// @nightly and after a change of packages/contract/src/ packages/client/src/ packages/server/src/index.ts package-lock.json
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';

type TypeScript = typeof import('typescript-5.4');

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = [
  '@leadtap/client',
  '@leadtap/client/file',
  '@leadtap/contract',
  '@leadtap/contract/schemas',
  '@leadtap/contract/openapi',
  'leadtap',
];

/** They take nine tenths of the time and are not ours; what our declarations use of them is resolved all the same. */
const SKIPPED = ['typebox', '@types/node', 'undici-types', 'typescript-5.0', 'typescript-5.4'];

/** The errors of a program that imports all packages and does not skip the check of declarations. */
function errorsIn(version: string, skipped: readonly string[]): { file: string; text: string }[] {
  const require = createRequire(import.meta.url);
  const name = require.resolve(`typescript-${version}`);
  const ts: TypeScript = require(name);
  // Later tests of this process measure its memory.
  onTestFinished(() => void Reflect.deleteProperty(require.cache, name));
  expect(ts.version).toMatch(version);
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const consumer = join(folder, 'consumer.ts');
  writeFileSync(consumer, PACKAGES.map((name, i) => `export * as part${i} from '${name}';\n`).join(''));
  const program = ts.createProgram([consumer], {
    noEmit: true,
    strict: true,
    skipLibCheck: false,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  });
  const isSkipped = (file: string) => skipped.some((name) => file.includes(`/node_modules/${name}/`));
  const checked = program.getSourceFiles().filter(({ fileName }) => !isSkipped(fileName));
  for (const name of ['client', 'contract', 'server'])
    expect(checked.map(({ fileName }) => fileName)).toContain(
      join(ROOT, 'packages', name, 'dist/index.d.ts'),
    );
  const diagnostics = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...checked.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ];
  return diagnostics.map(({ file, messageText }) => ({
    file: file?.fileName ?? '',
    text: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }));
}

describe('declarations of all packages are right without skipLibCheck', () => {
  test('in TypeScript 5.0', () => {
    expect(errorsIn('5.0', SKIPPED)).toEqual([]);
  });
});
