import { type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ExistingPath {
  readonly path: string;
  readonly isFolder: boolean;
}

/** The path, or its nearest parent that exists: that is where permissions or space are missing. */
export function nearestExisting(path: string): ExistingPath {
  const found = tryStat(path);
  if (found !== undefined) return { path, isFolder: found.isDirectory() };
  const parent = dirname(path);
  return parent === path ? { path, isFolder: false } : nearestExisting(parent);
}

/** A path without access counts as missing: the permission is missing in a parent folder. */
function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
