/**
 * What one would write: `node:http`, a pool of `pg`, one query, `JSON.stringify`. No token is checked, nothing is
 * limited, logged or counted, and a lead that is committed late may be lost.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LEAD_FIELDS } from '@leadtap/contract';
import pg from 'pg';
import type { Listening } from './messages.ts';

const COLUMNS = [
  ...LEAD_FIELDS.filter(({ column, joined }) => column && !joined).map(
    ({ name, column }) => `${column} AS "${name}"`,
  ),
  ...['branch_id AS "branchId"', 'department_id AS "departmentId"'],
].join(', ');

const NEWEST = `SELECT ${COLUMNS} FROM leadtap.leads WHERE company_id = $1 ORDER BY created_at DESC LIMIT 100`;
const SINCE = `SELECT ${COLUMNS} FROM leadtap.leads WHERE company_id = $1 AND created_at > $2 ORDER BY created_at LIMIT 100`;

const pool = new pg.Pool({ connectionString: process.argv[2] });

const server = createServer(async (request, response) => {
  try {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const company = searchParams.get('company');
    const since = searchParams.get('since');
    const { rows } = since ? await pool.query(SINCE, [company, since]) : await pool.query(NEWEST, [company]);
    const body = JSON.stringify(rows);
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
server.keepAliveTimeout = 72_000;
const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

process.on('message', async () => {
  await listening;
  const { port } = server.address() as AddressInfo;
  process.send?.({ port } satisfies Listening);
});
process.on('disconnect', () => process.exit());
