import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { loadSigningKeys, SigningKeyError } from '../../accounts/signing-keys.ts';
import { type Config, keyFileUnlessGiven, type SqliteDatabase } from '../../config.ts';
import { reasonOf } from '../../system-error.ts';
import { nearestExisting } from '../existing-path.ts';
import { signingKeyHints } from '../signing-key-failure.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const FOLDER = 'data folder';
const KEY = 'signing key';
const OTHERS_MAY_READ = 0o077;
const MADE_LATER = '`leadtap serve` and `leadtap org apply` make it.';
/** One that is made by each machine for itself makes tokens that the others refuse. */
const SHARE_IT = [
  'Every instance, and every command that issues tokens, needs the same key.',
  'Set LEADTAP_SIGNING_KEY from your secret store, or LEADTAP_SIGNING_KEY_FILE to a file that all of them have.',
];

const MEBIBYTE = 1024 * 1024;
/** SQLite's log alone grows by a few MiB between two checkpoints. */
const FULL_BYTES = 16 * MEBIBYTE;
/** Room for some hundred thousand leads. */
const NEARLY_FULL_BYTES = 256 * MEBIBYTE;

/** Tells the free space of a disk; tests give their own. */
export type ReadDisk = (path: string) => Promise<{ bavail: number; bsize: number }>;

/** Makes nothing: `serve` and `org apply` make the folder. */
export async function checkDataFolder(
  { file }: SqliteDatabase,
  readDisk: ReadDisk = statfs,
): Promise<Finding> {
  const folder = dirname(file);
  const { path, isFolder } = nearestExisting(folder);
  if (!isFolder) return failed(FOLDER, `${path} is not a folder`, 'Correct LEADTAP_DATABASE_URL.');
  if (!(await isWritable(path)))
    return failed(FOLDER, `${path} cannot be written`, `Give this user the right to write to ${path}.`);
  return (await checkSpace(path, readDisk)) ?? whetherThere(folder, path);
}

const whetherThere = (folder: string, existing: string): Finding =>
  existing === folder
    ? ok(FOLDER, `${folder} can be written`)
    : warning(FOLDER, `${folder} does not exist yet`, MADE_LATER);

async function checkSpace(path: string, readDisk: ReadDisk): Promise<Finding | undefined> {
  const { bavail, bsize } = await readDisk(path);
  const free = bavail * bsize;
  const room = `Free some space on the disk of ${path}, or move the database to a larger one.`;
  const detail = `${Math.floor(free / MEBIBYTE)} MiB are free on the disk of ${path}`;
  if (free < FULL_BYTES) return failed(FOLDER, `${detail}: it is full`, room);
  return free < NEARLY_FULL_BYTES ? warning(FOLDER, detail, room) : undefined;
}

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

export async function checkSigningKey(config: Config, cwd: string): Promise<Finding> {
  const { signingKey, database } = config;
  if ('secrets' in signingKey) return ok(KEY, `${count(signingKey.secrets.length)} in LEADTAP_SIGNING_KEY`);
  const { file } = signingKey;
  const isOfThisMachine = database.kind === 'postgres' && file === keyFileUnlessGiven(database, cwd);
  try {
    const keys = await loadSigningKeys(signingKey, { create: false });
    const { mode } = await stat(file);
    if (process.platform !== 'win32' && (mode & OTHERS_MAY_READ) !== 0)
      return failed(KEY, `other users of this machine may read ${file}`, `Run: chmod 600 ${file}`);
    if (isOfThisMachine) return warning(KEY, `${file} is of this machine alone`, ...SHARE_IT);
    return ok(KEY, `${count(keys.length)} in ${file}`);
  } catch (error) {
    if (!(error instanceof SigningKeyError)) return failed(KEY, reasonOf(error, file), `Check ${file}.`);
    if (error.reason === 'missing') return missingKey(file, isOfThisMachine);
    return failed(KEY, reasonOf(error, file), ...signingKeyHints(error, file));
  }
}

/** A warning where the service can make it, which it cannot in a folder that this user may not write to. */
async function missingKey(file: string, isOfThisMachine: boolean): Promise<Finding> {
  const { path, isFolder } = nearestExisting(dirname(file));
  if (!isFolder || !(await isWritable(path))) {
    const cause = Object.assign(new Error(), { code: isFolder ? 'EACCES' : 'ENOTDIR' });
    const error = new SigningKeyError('unwritable', 'the signing key file cannot be made', { cause });
    return failed(KEY, reasonOf(error, file), ...signingKeyHints(error, file));
  }
  return warning(KEY, `${file} does not exist yet`, ...(isOfThisMachine ? SHARE_IT : [MADE_LATER]));
}

const count = (keys: number): string => (keys === 1 ? 'one key' : `${keys} keys`);
