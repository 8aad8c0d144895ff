import { statSync } from 'node:fs';

/** Which file is at a path, whatever its content. */
export interface FileIdentity {
  /** Device and inode. Unique among the files that exist; the inode of a deleted file is given to a new one. */
  readonly inode: string;
  /** When the inode was given to this file. 0 where the file system does not keep it. */
  readonly birthtimeNs: bigint;
}

export function identifyFile(path: string): FileIdentity | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && { inode: `${stats.dev} ${stats.ino}`, birthtimeNs: stats.birthtimeNs };
}

/** For files of which one is open, so that its inode cannot have been given to another. */
export const isSameFile = (a: FileIdentity | undefined, b: FileIdentity | undefined): boolean =>
  a !== undefined && a.inode === b?.inode;
