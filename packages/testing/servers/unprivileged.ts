import { execFileSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import process from 'node:process';

const isRoot = process.getuid?.() === 0;

const idOfUnprivileged = (flag: string): number =>
  Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));

/**
 * Who servers run as: PostgreSQL and PgBouncer refuse to be root. Empty when the tests do not run as root. For the
 * options of `spawn`.
 */
export const unprivileged: { readonly uid?: number; readonly gid?: number } = isRoot
  ? { uid: idOfUnprivileged('-u'), gid: idOfUnprivileged('-g') }
  : {};

/** Lets them have a file or a folder of ours. */
export function giveAway(path: string): void {
  if (unprivileged.uid !== undefined && unprivileged.gid !== undefined)
    chownSync(path, unprivileged.uid, unprivileged.gid);
}
