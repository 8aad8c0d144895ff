/** What to do about an error of PostgreSQL. No driver in it: every command loads it. */

import { innermostCode } from '../../lib/system-error.ts';
import { UnusableDatabaseError } from '../../sql/errors.ts';

const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
/** A sentence each. None shows the password. The setting is where the address was given: a variable or a flag. */
export function postgresHints(error: Error, url: string, setting: string): string[] {
  const code = innermostCode(error) ?? '';
  if (error instanceof UnusableDatabaseError && code === '')
    return [`Name another database in ${setting}, or update the server if it is too old.`];
  const message = error.cause instanceof Error ? error.cause.message : '';
  const hint = hintFor(code, message, url, setting);
  if (message === '') return [hint];
  if (SQLSTATE.test(code)) return [`PostgreSQL says: ${message}`, hint];
  // The message of a system error only repeats its code.
  return code === '' ? [`The driver says: ${message}`, hint] : [hint];
}

interface HintParts {
  readonly setting: string;
  readonly user: string;
  readonly database: string;
}

type Hint = string | ((parts: HintParts) => string);

const UNREACHABLE: Hint = ({ setting }) =>
  `Check the host in ${setting}, and that no firewall blocks the connection from this machine.`;
const UNKNOWN_HOST: Hint = ({ setting }) =>
  `Correct the host in ${setting}, or the DNS settings of this machine.`;
const UNTRUSTED: Hint = ({ setting }) =>
  `Add sslrootcert=FILE to ${setting}, with the certificate of the authority that signed it.`;
const NOT_READY = 'Try again when PostgreSQL is ready. If the error stays, read the log of PostgreSQL.';
const BUSY =
  'Try again. If the error stays, pg_stat_activity and pg_locks show which program holds the lock.';

/** By the code of the system or of TLS, the SQLSTATE, or its first two characters (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const POSTGRES_HINTS: Readonly<Record<string, Hint>> = {
  ECONNREFUSED: ({ setting }) => `Start PostgreSQL, or correct host and port in ${setting}.`,
  ENOENT: ({ setting }) => `Correct the path in ${setting}. If it is the path of a socket, start PostgreSQL.`,
  EACCES: ({ setting }) => `Allow this user to use the socket or the file that ${setting} names.`,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ETIMEDOUT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ECONNRESET: NOT_READY,

  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'Renew the certificate of PostgreSQL.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Write the host as its certificate names it, or use sslmode=verify-ca with your own authority in sslrootcert.',

  '28P01': ({ setting }) =>
    `Correct user and password in ${setting}. Percent-encode characters such as @, : and / in them.`,
  '28000': ({ user, setting }) =>
    `Correct the user in ${setting}, or allow ${user} to connect from this machine in pg_hba.conf.`,
  '3D000': ({ user, database }) =>
    `Run: createdb --owner=${user} --encoding=UTF8 --template=template0 ${database}`,
  '42501': ({ user, database }) =>
    `To allow ${user} to migrate, run: GRANT CREATE ON DATABASE ${database} TO ${user}; if the schema exists already, GRANT leadtap_owner TO ${user}. To allow it only to serve, run \`leadtap migrate\` as another role, then GRANT leadtap_service TO ${user}, and set LEADTAP_AUTO_MIGRATE=false here.`,
  '53300':
    'Lower LEADTAP_DATABASE_CONNECTIONS on each instance, raise max_connections of PostgreSQL, or use PgBouncer.',
  '53100': 'Free some space on the disk of PostgreSQL.',
  '08': NOT_READY,
  '57': NOT_READY,
  '57014': BUSY,
  '55P03': BUSY,
  LT001: 'Rename that trigger so that its name sorts earlier: ALTER TRIGGER … ON leadtap.leads RENAME TO …',
  LT002: 'Find the trigger on leadtap.leads that gives leads the id of an erased lead.',
  '0A': 'Update PostgreSQL to version 14 or later.',
  '25000': ({ user }) => `Run: ALTER ROLE ${user} SET default_transaction_isolation = 'read committed'`,
  '25006': ({ setting }) =>
    `Name the primary in ${setting}: a standby cannot store leads and does not have all of them.`,
};

/** The driver has no codes for these errors. */
const DRIVER_HINTS: readonly (readonly [message: RegExp, Hint])[] = [
  [
    /client password must be a/,
    ({ setting }) => `Write the password into ${setting}, or set PGPASSWORD, or use ~/.pgpass.`,
  ],
  [
    /does not support SSL/,
    ({ setting }) =>
      `Set ssl = on in PostgreSQL, with a certificate. If you trust the network, write sslmode=disable into ${setting}.`,
  ],
];

const OTHER: Hint = ({ setting }) => `Check ${setting} and the connection to PostgreSQL, and read its log.`;

function hintFor(code: string, message: string, url: string, setting: string): string {
  const [, driverHint] = DRIVER_HINTS.find(([words]) => words.test(message)) ?? [];
  const hint = driverHint ?? POSTGRES_HINTS[code] ?? POSTGRES_HINTS[code.slice(0, 2)] ?? OTHER;
  if (typeof hint === 'string') return hint;
  const { username, pathname } = new URL(url);
  const user = username === '' ? 'your_role' : decodeURIComponent(username);
  const database = decodeURIComponent(pathname.slice(1));
  return hint({ user: quoteName(user), database: quoteName(database), setting });
}

/** Quotes a name for SQL and for a shell. */
const quoteName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`);
