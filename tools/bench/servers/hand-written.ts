/**
 * What one would write first: `node:http`, a `pg` pool, one query, `JSON.stringify`. It checks no token, limits, logs and
 * counts nothing, and loses leads that are committed late.
 */
import { createServer } from 'node:http';
import { LEAD_FIELDS } from '@leadtap/contract';
import pg from 'pg';
import { listen } from './listen.ts';

const COLUMNS = [
  ...LEAD_FIELDS.filter(({ column, joined }) => column && !joined).map(
    ({ name, column }) => `${column} AS "${name}"`,
  ),
  'branch_id AS "branchId"',
  'department_id AS "departmentId"',
].join(', ');
const FROM = `SELECT ${COLUMNS} FROM leadtap.leads WHERE company_id = $1`;
const NEWEST = `${FROM} ORDER BY created_at DESC LIMIT 100`;
const SINCE = `${FROM} AND created_at > $2 ORDER BY created_at LIMIT 100`;

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
listen(server);
