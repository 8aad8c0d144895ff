import type { PostgresDatabase } from '../../config.ts';
import type { ServerFacts } from '../../store/store.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const SERVER = 'database server';
const CONNECTIONS = 'connections';
const ROLES = 'roles';
const NEEDED_ISOLATION = 'read committed';
const NEEDED_ENCODING = 'UTF8';

/** What a database server must be like for the delivery contract to hold, and how many may ask it at once. */
export const checkServer = (facts: ServerFacts, database: PostgresDatabase): readonly Finding[] => [
  checkSettings(facts),
  checkConnections(facts, database),
];

function checkSettings({ isStandby, isDurable, isolation, encoding }: ServerFacts): Finding {
  if (isStandby)
    return failed(
      SERVER,
      'it is a standby, which takes no leads and cannot answer polls completely',
      'Name the primary in LEADTAP_DATABASE_URL.',
    );
  if (encoding !== NEEDED_ENCODING)
    return failed(
      SERVER,
      `the encoding of the database is ${encoding}, which cannot hold every name`,
      'Make another one: createdb --encoding=UTF8 --template=template0 NAME',
    );
  if (isolation !== NEEDED_ISOLATION)
    return failed(
      SERVER,
      `its transactions begin as ${isolation}, in which a poll would not see the latest leads`,
      `Run: ALTER ROLE … SET default_transaction_isolation = '${NEEDED_ISOLATION}'`,
    );
  if (!isDurable)
    return warning(
      SERVER,
      'a crash may lose leads that were acknowledged',
      'Set fsync = on and synchronous_commit = on in PostgreSQL.',
    );
  return ok(SERVER, `${isolation}, durable, ${encoding}`);
}

function checkConnections(
  { connectionLimit: limit }: ServerFacts,
  { connections }: PostgresDatabase,
): Finding {
  const detail = `at most ${connections} from each process; the server takes ${limit} of this role`;
  if (connections <= limit) return ok(CONNECTIONS, detail);
  return warning(
    CONNECTIONS,
    detail,
    'Lower LEADTAP_DATABASE_CONNECTIONS, raise max_connections of PostgreSQL, or put PgBouncer in front.',
  );
}

export function checkRoles({ missingRoles }: ServerFacts): Finding {
  if (missingRoles.length === 0) return ok(ROLES, 'leadtap_owner, leadtap_service and leadtap_writer exist');
  return warning(
    ROLES,
    `${missingRoles.join(', ')} ${missingRoles.length === 1 ? 'does' : 'do'} not exist`,
    'They let each program have no more rights than it needs (docs/postgresql.md).',
    'Run `leadtap migrate` as a role that may create roles, or run CREATE ROLE … NOLOGIN for each, then `leadtap migrate`.',
  );
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** Nothing to say where nobody can listen, or where someone has decided. */
export function checkEncryption(
  { url }: PostgresDatabase,
  env: Readonly<Record<string, string | undefined>>,
): readonly Finding[] {
  const { hostname, searchParams } = new URL(url);
  const isLocal = LOCAL_HOSTS.includes(hostname) || searchParams.has('host') || /^%2f/i.test(hostname);
  if (isLocal || searchParams.has('sslmode') || env['PGSSLMODE']) return [];
  return [
    warning(
      'encryption',
      `the connection to ${hostname} is not encrypted`,
      'Add ?sslmode=verify-full to LEADTAP_DATABASE_URL, or ?sslmode=disable if nobody can listen on the way.',
    ),
  ];
}
