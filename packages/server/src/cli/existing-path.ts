import { type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ExistingPath {
  readonly path: string;
  readonly isFolder: boolean;
}

/** The path itself, or the nearest one above it that exists: that is where rights or space are missing. */
export function nearestExisting(path: string): ExistingPath {
  const found = tryStat(path);
  if (found !== undefined) return { path, isFolder: found.isDirectory() };
  const above = dirname(path);
  return above === path ? { path, isFolder: false } : nearestExisting(above);
}

/** What cannot be reached counts as missing: the right to enter is missing above it. */
function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
