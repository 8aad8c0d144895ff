import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

export interface TextFile {
  /** From the root of the repository, such as `packages/server/src/app.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface SourceFile extends TextFile {
  /** Its imports: paths from the root, or names of modules. */
  readonly imports: readonly string[];
  /** The imports that remain in JavaScript. */
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
const TEXT = /\.(?:tsx?|js|mjs|cjs|json|sql|md|html|css|lua|rb|sh|ya?ml)$/;

/** All text files below a folder, sorted by path. */
export const textFiles = (folder: string): TextFile[] => filesBelow(folder, TEXT);

/** All TypeScript files below a folder, sorted by path. */
export const sourceFiles = (folder = '.'): SourceFile[] =>
  filesBelow(folder, /\.tsx?$/).map(({ path, text }) => ({
    path,
    text,
    imports: targetsOf(path, text, IMPORT, DYNAMIC_IMPORT),
    runtimeImports: targetsOf(path, text, RUNTIME_IMPORT),
  }));

function filesBelow(folder: string, name: RegExp): TextFile[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  const files = entries.flatMap((entry): TextFile[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(path, name);
    return name.test(path) ? [{ path, text: readFileSync(join(ROOT, path), 'utf8') }] : [];
  });
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A file without comments and string literals. */
export const codeOf = ({ text }: SourceFile): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''")
    .replace(/\/\/.*$/gm, '');
