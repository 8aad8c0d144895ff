import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { terminal } from '../../cli/terminal.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql, refusalOf } from './sql-client.ts';

const ROOT = new URL('../../../../../', import.meta.url);
const DOCUMENT = new URL('docs/postgresql.md', ROOT);
const text = readFileSync(DOCUMENT, 'utf8');

/** Also those that are part of a list. */
const blocks = (language: string): string[] =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]+?)\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  );

/** As the document says, without making the database. */
async function setUp() {
  const database = await makeTestDatabase(undefined, { empty: true });
  const [script = ''] = blocks('sh');
  const commands = [...script.matchAll(/^npx leadtap (.+)$/gm)].map(([, command = '']) => command);
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const ran = await terminal().run(command, { env: database.env, parts: { cwd: fileURLToPath(ROOT) } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  }
  return connectSql(database.url);
}

test('its logins have the roles, and its statements work for the writer', async () => {
  const client = await setUp();
  const [logins = '', insert = '', history = '', ...others] = blocks('sql');
  expect(others).toEqual([]);

  // Logins belong to the whole server, so they do not stay.
  await client.query(`BEGIN; ${logins}; SET LOCAL ROLE crm`);
  await client.query(insert);
  expect((await refusalOf(client, 'SELECT FROM leadtap.users'))?.code).toBe('42501');
  await client.query(
    `ROLLBACK; BEGIN; ${logins}; SET LOCAL ROLE leadtap_app; SELECT FROM leadtap.users; ROLLBACK`,
  );

  await client.query(insert);
  await client.query(history);
  const { rows } = await client.query(
    `SELECT first_name, branch_id IS NOT NULL AS placed, status_value, created_at FROM leadtap.leads ORDER BY created_at`,
  );
  expect(rows).toMatchObject([
    { first_name: 'Old', created_at: new Date('2024-05-01T08:00:00Z') },
    { first_name: 'Ada', placed: true, status_value: 'NEW' },
  ]);
});

const { address, sql } = ownCluster();

test('its first block works as it is, with a login that is no superuser', async () => {
  const [script = ''] = blocks('sh');
  const [, statements = ''] = /<<'SQL'\n([\s\S]+?)SQL\n/.exec(script) ?? [];
  for (const statement of statements.trim().split('\n')) await sql(statement);
  const [, user = '', name = ''] = /LEADTAP_DATABASE_URL=postgres:\/\/(\w+):.+\/(\w+)$/m.exec(script) ?? [];
  const env = { LEADTAP_DATABASE_URL: address(user, name) };
  for (const [, command = ''] of script.matchAll(/^npx leadtap (.+)$/gm)) {
    const ran = await terminal().run(command, { env, parts: { cwd: fileURLToPath(ROOT) } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  }
  const client = new Client(address(user, name));
  onTestFinished(() => client.end());
  await client.connect();
  const [logins = ''] = blocks('sql');
  await client.query(logins);
});
