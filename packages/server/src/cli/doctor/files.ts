import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { loadSigningKeys } from '../../accounts/own-tokens.ts';
import { type Config, keyFileUnlessGiven, type SqliteDatabase } from '../../config.ts';
import { reasonOf, systemCode } from '../../system-error.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const FOLDER = 'data folder';
const KEY = 'signing key';
const OTHERS_MAY_READ = 0o077;
const MADE_LATER = 'The first command that needs it makes it.';
/** One that is made by each machine for itself makes tokens that the others refuse. */
const SHARE_IT = [
  'Every instance, and every command that issues tokens, needs the same key.',
  'Set LEADTAP_SIGNING_KEY from your secret store, or LEADTAP_SIGNING_KEY_FILE to a file that all of them have.',
];

/** Looks, and makes nothing: the first command that needs the folder makes it. */
export async function checkDataFolder({ file }: SqliteDatabase): Promise<Finding> {
  const folder = dirname(file);
  const { path, isFolder } = await nearestExisting(folder);
  if (!isFolder) return failed(FOLDER, `${path} is not a folder`, 'Correct LEADTAP_DATABASE_URL.');
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return failed(FOLDER, `${path} cannot be written`, `Give this user the right to write to ${path}.`);
  }
  if (path === folder) return ok(FOLDER, `${folder} can be written`);
  return warning(FOLDER, `${folder} does not exist yet`, MADE_LATER);
}

async function nearestExisting(folder: string): Promise<{ path: string; isFolder: boolean }> {
  for (let path = folder; ; path = dirname(path)) {
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) return { path, isFolder: found.isDirectory() };
    if (path === dirname(path)) return { path, isFolder: false };
  }
}

export async function checkSigningKey(config: Config, cwd: string): Promise<Finding> {
  const { signingKey, database } = config;
  if ('secrets' in signingKey) return ok(KEY, `${count(signingKey.secrets.length)} in LEADTAP_SIGNING_KEY`);
  const { file } = signingKey;
  const isOfThisMachine = database.kind === 'postgres' && file === keyFileUnlessGiven(database, cwd);
  try {
    const { mode } = await stat(file);
    const keys = await loadSigningKeys(signingKey);
    if (process.platform !== 'win32' && (mode & OTHERS_MAY_READ) !== 0)
      return failed(KEY, `other users of this machine may read ${file}`, `Run: chmod 600 ${file}`);
    if (isOfThisMachine) return warning(KEY, `${file} is of this machine alone`, ...SHARE_IT);
    return ok(KEY, `${count(keys.length)} in ${file}`);
  } catch (error) {
    if (systemCode(error) === 'ENOENT')
      return warning(KEY, `${file} does not exist yet`, ...(isOfThisMachine ? SHARE_IT : [MADE_LATER]));
    return failed(KEY, reasonOf(error, file), 'Make the file readable, or put a backup of it in its place.');
  }
}

const count = (keys: number): string => (keys === 1 ? 'one key' : `${keys} keys`);
