import type { PostgresDatabase } from '../config.ts';

interface Names {
  readonly user: string;
  readonly database: string;
}

type Mend = string | ((names: Names) => string);

const START = 'Start PostgreSQL, or correct host and port in LEADTAP_DATABASE_URL.';
const NO_WAY = 'Check the host in LEADTAP_DATABASE_URL, and that firewalls let this machine through to it.';
const UNKNOWN_HOST = 'Correct the host in LEADTAP_DATABASE_URL, or the name service of this machine.';
const WRONG_LOGIN =
  'Correct user and password in LEADTAP_DATABASE_URL; docs/configuration.md tells how to encode them.';
const AUTHORITY =
  'Add sslrootcert=FILE to LEADTAP_DATABASE_URL, with the certificate of the authority that signed it.';
const FULL =
  'Lower LEADTAP_DATABASE_CONNECTIONS on each instance, raise max_connections of PostgreSQL, or put PgBouncer in front.';
const UP_SOON = 'Try again when PostgreSQL is up. If it stays so, its log tells why.';

const ANYTHING = 'Check LEADTAP_DATABASE_URL and the way to PostgreSQL; its log tells more.';
const BUSY = 'Try again. If it stays so, pg_stat_activity and pg_locks show which program is in the way.';

/** By the code of the system, of TLS, or the SQLSTATE or the two letters of its class (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const MENDS: Readonly<Record<string, Mend>> = {
  ECONNREFUSED: START,
  ENOENT: 'Correct the path in LEADTAP_DATABASE_URL, or start PostgreSQL if it is that of its socket.',
  EACCES: 'Give this user the right to the socket or the file that LEADTAP_DATABASE_URL names.',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ETIMEDOUT: NO_WAY,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  ECONNRESET: UP_SOON,

  SELF_SIGNED_CERT_IN_CHAIN: AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: AUTHORITY,
  CERT_HAS_EXPIRED: 'Renew the certificate of PostgreSQL.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Write the host as its certificate names it, or use sslmode=verify-ca with an authority of your own in sslrootcert.',

  '28P01': WRONG_LOGIN,
  '28000': ({ user }) =>
    `Correct the user in LEADTAP_DATABASE_URL, or let ${user} in from this machine in pg_hba.conf.`,
  '3D000': ({ user, database }) =>
    `Run: createdb --owner=${user} --encoding=UTF8 --template=template0 ${database}`,
  '42501': ({ user, database }) =>
    `To let ${user} migrate, run: GRANT CREATE ON DATABASE ${database} TO ${user}. To let it only serve, run \`leadtap migrate\` as another role, then GRANT leadtap_service TO ${user}, and set LEADTAP_AUTO_MIGRATE=false here. docs/postgresql.md tells more.`,
  '53300': FULL,
  '53100': 'Make room on the disk of PostgreSQL.',
  '08': UP_SOON,
  '57': UP_SOON,
  '57014': BUSY,
  '55P03': BUSY,
  '0A': 'Update PostgreSQL to version 14 or later.',
  '25000': ({ user }) => `Run: ALTER ROLE ${user} SET default_transaction_isolation = 'read committed'`,
  '25006':
    'Name the primary in LEADTAP_DATABASE_URL: a standby cannot take leads, nor answer polls completely.',
};

export function mendPostgres(code: string | undefined, { url }: PostgresDatabase): string {
  const mend = MENDS[code ?? ''] ?? MENDS[code?.slice(0, 2) ?? ''] ?? ANYTHING;
  return typeof mend === 'string' ? mend : mend(namesIn(url));
}

function namesIn(url: string): Names {
  const { username, pathname } = new URL(url);
  const user = username === '' ? 'your_role' : decodeURIComponent(username);
  return { user: asName(user), database: asName(decodeURIComponent(pathname.slice(1))) };
}

/** As SQL, and a shell, take it for one name. */
const asName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`);
