import type { PostgresDatabase } from '../config.ts';

interface Names {
  /** Where the address of the database is given. */
  readonly setting: string;
  readonly user: string;
  readonly database: string;
}

type ValidationIssue = string | ((names: Names) => string);

const START: ValidationIssue = ({ setting }) => `Start PostgreSQL, or correct host and port in ${setting}.`;
const NO_WAY: ValidationIssue = ({ setting }) =>
  `Check the host in ${setting}, and that firewalls let this machine through to it.`;
const UNKNOWN_HOST: ValidationIssue = ({ setting }) =>
  `Correct the host in ${setting}, or the name service of this machine.`;
const WRONG_LOGIN: ValidationIssue = ({ setting }) =>
  `Correct user and password in ${setting}; docs/configuration.md tells how to encode them.`;
const AUTHORITY: ValidationIssue = ({ setting }) =>
  `Add sslrootcert=FILE to ${setting}, with the certificate of the authority that signed it.`;
const FULL =
  'Lower LEADTAP_DATABASE_CONNECTIONS on each instance, raise max_connections of PostgreSQL, or put PgBouncer in front.';
const UP_SOON = 'Try again when PostgreSQL is up. If it stays so, its log tells why.';

const ANYTHING: ValidationIssue = ({ setting }) =>
  `Check ${setting} and the way to PostgreSQL; its log tells more.`;
const BUSY = 'Try again. If it stays so, pg_stat_activity and pg_locks show which program is in the way.';

/** By the code of the system, of TLS, or the SQLSTATE or the two letters of its class (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const HINTS: Readonly<Record<string, ValidationIssue>> = {
  ECONNREFUSED: START,
  ENOENT: ({ setting }) => `Correct the path in ${setting}, or start PostgreSQL if it is that of its socket.`,
  EACCES: ({ setting }) => `Give this user the right to the socket or the file that ${setting} names.`,
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
  '28000': ({ user, setting }) =>
    `Correct the user in ${setting}, or let ${user} in from this machine in pg_hba.conf.`,
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
  LT001: 'Rename that trigger so that its name sorts earlier: ALTER TRIGGER … ON leadtap.leads RENAME TO …',
  '0A': 'Update PostgreSQL to version 14 or later.',
  '25000': ({ user }) => `Run: ALTER ROLE ${user} SET default_transaction_isolation = 'read committed'`,
  '25006': ({ setting }) =>
    `Name the primary in ${setting}: a standby cannot take leads, nor answer polls completely.`,
};

export function postgresHint(code: string | undefined, { url }: PostgresDatabase, setting: string): string {
  const fix = HINTS[code ?? ''] ?? HINTS[code?.slice(0, 2) ?? ''] ?? ANYTHING;
  return typeof fix === 'string' ? fix : fix({ ...namesIn(url), setting });
}

function namesIn(url: string): Omit<Names, 'setting'> {
  const { username, pathname } = new URL(url);
  const user = username === '' ? 'your_role' : decodeURIComponent(username);
  return { user: asName(user), database: asName(decodeURIComponent(pathname.slice(1))) };
}

/** As SQL, and a shell, take it for one name. */
const asName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`);
