import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from '../../packages/testing/servers/find-program.ts';
import { POSTGRES } from '../../packages/testing/servers/programs.ts';
import { type Bench, type Dataset, query } from './bench.ts';

const TABLE = `CREATE TABLE plain_leads (
  company_id integer,
  id uuid DEFAULT gen_random_uuid(),
  created_at timestamptz DEFAULT clock_timestamp(),
  lead text,
  PRIMARY KEY (company_id, id))`;

const scriptOf = (companies: number): string => `\\set company random(1, ${companies})
BEGIN;
SELECT pg_advisory_xact_lock(:company);
INSERT INTO plain_leads (company_id, lead) VALUES (:company, repeat('lead', 125));
COMMIT;
`;

/** As many as an instance has. */
const CONNECTIONS = 10;

/**
 * What the same PostgreSQL does for single leads without a service: lock the company, INSERT, COMMIT. Returns a function that measures
 * the leads per second; undefined if pgbench is not installed.
 */
export async function preparePgbench(
  { folder, options }: Bench,
  { postgresUrl }: Dataset,
  companies: number,
): Promise<(() => Promise<number>) | undefined> {
  const program = join(POSTGRES.find() ?? '', '..', 'pgbench');
  if (!isExecutable(program)) return undefined;
  await query(postgresUrl, TABLE, 'CREATE INDEX ON plain_leads (company_id, created_at)');
  const script = `${folder}/pgbench.sql`;
  writeFileSync(script, scriptOf(companies));
  const argv = [
    '-n',
    '-M',
    'prepared',
    '-c',
    `${CONNECTIONS}`,
    '-T',
    `${options.seconds}`,
    '-f',
    script,
    postgresUrl,
  ];
  return async () => {
    const { stdout } = await promisify(execFile)(program, argv);
    return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
  };
}
