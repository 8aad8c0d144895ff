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
}

const IMPORT = /^(?:import|export)\b(?:[^;'"`]*?\bfrom)?\s*'([^']+)'/gm;
const DYNAMIC_IMPORT = /\b(?:import|require)\('([^']+)'\)/g;

const importsOf = (path: string, text: string): string[] =>
  [...text.matchAll(IMPORT), ...text.matchAll(DYNAMIC_IMPORT)].map(([, target = '']) =>
    target.startsWith('.') ? join(dirname(path), target) : target,
  );

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
    return [{ path: relative('.', path), text, imports: importsOf(path, text) }];
  });
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What the compiler sees: neither comments nor texts. */
export const codeOf = ({ text }: SourceFile): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''")
    .replace(/\/\/.*$/gm, '');
