import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

export interface SourceFile {
  /** From the root of the repository, such as `packages/server/src/app.ts`. */
  readonly path: string;
  readonly text: string;
  /** What it imports: paths from the root, or names of modules. */
  readonly imports: readonly string[];
  /** Those that remain in JavaScript when the file is loaded. */
  readonly runtimeImports: readonly string[];
}

const IMPORT = /^(?:import|export)\b(?:[^;'"`]*?\bfrom)?\s*'([^']+)'/gm;
const DYNAMIC_IMPORT = /\b(?:import|require)\('([^']+)'\)/g;

const RUNTIME_IMPORT = /^(?:import|export)\b(?! type\b)(?:[^;'"`]*?\bfrom)?\s*'([^']+)'/gm;

const targetsOf = (path: string, text: string, ...patterns: readonly RegExp[]): string[] =>
  patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map(([, target = '']) => (target.startsWith('.') ? join(dirname(path), target) : target));

const NOT_OURS = new Set(['node_modules', 'dist', 'coverage', '.git']);

/** All TypeScript files below a folder, in the order of their paths. */
export function sourceFiles(folder = '.'): SourceFile[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  const ours = entries.filter(({ name }) => !NOT_OURS.has(name));
  const files = ours.flatMap((entry): SourceFile[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourceFiles(path);
    if (!entry.name.endsWith('.ts')) return [];
    const text = readFileSync(join(ROOT, path), 'utf8');
    const imports = targetsOf(path, text, IMPORT, DYNAMIC_IMPORT);
    const runtimeImports = targetsOf(path, text, RUNTIME_IMPORT);
    return [{ path: relative('.', path), text, imports, runtimeImports }];
  });
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What the compiler sees: neither comments nor texts. */
export const codeOf = ({ text }: SourceFile): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''")
    .replace(/\/\/.*$/gm, '');
