import { dirname } from 'node:path';
import type { SigningKeyError } from '../accounts/signing-keys.ts';
import { systemCode } from '../system-error.ts';
import { nearestExisting } from './existing-path.ts';

const NO_SPACE = ['ENOSPC', 'EDQUOT'];
const WRONG_PATH = ['ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'];

/** What to do about a signing key file that cannot be used. */
export function signingKeyHints({ reason, cause }: SigningKeyError, file: string): string[] {
  const code = systemCode(cause) ?? '';
  if (WRONG_PATH.includes(code)) return [`Correct LEADTAP_SIGNING_KEY_FILE: ${file} cannot be a file.`];
  switch (reason) {
    case 'missing':
      return [
        'A token must be signed with the key of the service. Run this in the folder of the service, or set LEADTAP_SIGNING_KEY_FILE or LEADTAP_SIGNING_KEY.',
        'On a new installation, `leadtap org apply` and `leadtap serve` make the key.',
      ];
    case 'unreadable':
      return [`Give this user the right to read ${file}.`];
    case 'unwritable':
      return NO_SPACE.includes(code)
        ? [`Free some space on the disk of ${nearestExisting(dirname(file)).path}.`]
        : [
            `Give this user the right to write to ${nearestExisting(dirname(file)).path}, or name another place in LEADTAP_SIGNING_KEY_FILE.`,
          ];
    case 'invalid':
      return [
        'Put a backup of the file in its place: with it, the tokens that you have issued keep working.',
        'Without a backup, remove the file. The next start makes a new key, and every token must be issued again.',
      ];
  }
}
