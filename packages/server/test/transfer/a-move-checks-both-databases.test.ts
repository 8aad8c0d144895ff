import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { loadDriver } from '../../src/store/sqlite/connection.ts';
import { expectedVersion } from '../../src/store/sqlite/migrate.ts';
import { openSqliteMoveSource } from '../../src/store/sqlite/transfer-source.ts';
import { moveArgv, run, runMove } from './commands.ts';
import { makeEndpoints } from './endpoints.ts';
import { makeFilledEndpoints } from './filled.ts';
import { StoreProcess } from './store-process.ts';

const PAGE_BYTES = 8192;

/** Damages every page of the file that has a lead. */
function damageLeads(file: string): void {
  const bytes = readFileSync(file);
  for (let start = 0; start < bytes.length; start += PAGE_BYTES) {
    const page = bytes.subarray(start, start + PAGE_BYTES);
    if (page.includes('lead-1')) page.fill(0xff);
  }
  writeFileSync(file, bytes);
}

describe('the addresses', () => {
  it('the default of both is the configured database', async () => {
    const { folder, from, to } = await makeFilledEndpoints();
    for (const [flag, given, configured] of [
      ['--from', from, to],
      ['--to', to, from],
    ] as const) {
      const ran = await run({ folder }, ['migrate', flag, given], {
        env: { LEADTAP_DATABASE_URL: configured },
      });
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('moved and verified') });
    }
  });

  it.each([
    ['--from', 'postgres://localhost/a', 'a move goes from SQLite to PostgreSQL'],
    ['--to', 'sqlite:./other.db', 'a move goes from SQLite to PostgreSQL'],
    ['--to', 'mysql://user:hidden@host/a', '--to: it starts neither with sqlite: nor with postgres://'],
    ['--from', 'sqlite:', '--from: it names no file'],
  ])('%s %s is a usage error', async (flag, value, message) => {
    const endpoints = await makeEndpoints();
    const { code, stderr } = await run(endpoints, ['migrate', flag, value]);
    expect(code).toBe(2);
    expect(stderr).toContain(`leadtap: ${message}`);
    expect(stderr).not.toContain('hidden');
  });
});

describe('the source', () => {
  it('is not created if it is missing', async () => {
    const endpoints = await makeEndpoints();
    const { code, stderr } = await runMove(endpoints);
    expect(code).toBe(1);
    expect(stderr).toContain(`leadtap: there is no such file (${endpoints.file})`);
    expect(stderr).toContain('--from');
    expect(stderr).not.toContain('LEADTAP_DATABASE_URL');
    expect(existsSync(endpoints.file)).toBe(false);
  });

  it('is refused if it is a file of another program', async () => {
    const endpoints = await makeEndpoints();
    const file = `${endpoints.folder}/notes.db`;
    writeFileSync(file, 'these are notes');
    const { code, stderr } = await run(endpoints, [
      'migrate',
      '--from',
      `sqlite:${file}`,
      '--to',
      endpoints.to,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(`leadtap: the file is not an SQLite database (${file})`);
  });

  it('is named by its flag when it fails later', async () => {
    const endpoints = await makeFilledEndpoints();
    damageLeads(endpoints.file);
    const { code, stderr } = await runMove(endpoints);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`leadtap: the database file is damaged (${endpoints.file})\n`),
    });
    expect(stderr).toContain('--from');
    expect(stderr).not.toContain('LEADTAP_DATABASE_URL');
  });

  it('is refused if a newer Leadtap has updated it, whose tables would not be copied', async () => {
    const endpoints = await makeFilledEndpoints();
    const { DatabaseSync } = loadDriver();
    const source = new DatabaseSync(endpoints.file);
    const next = expectedVersion() + 1;
    source.exec(`INSERT INTO migrations VALUES (${next}, 'next.sql', '')`);
    source.close();
    const { code, stderr } = await runMove(endpoints);
    expect(code).toBe(1);
    expect(stderr).toContain('a newer Leadtap has updated the database');
  });

  it('is refused while a service has it open', async () => {
    const endpoints = await makeFilledEndpoints();
    const service = new StoreProcess(endpoints.from);
    await service.call('listTokens', 'boss');
    const move = () => runLeadtap(moveArgv(endpoints), {}, endpoints.folder);
    const { code, stderr } = await move();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `leadtap: another program has the database open (${endpoints.file})\n  Stop the service`,
    );
    await service.close();
    expect(await move()).toMatchObject({ code: 0 });
  });

  it('cannot be read or written by others while it is moved, and is unchanged afterwards', async () => {
    const endpoints = await makeFilledEndpoints();
    const { DatabaseSync } = loadDriver();
    const other = new DatabaseSync(endpoints.file);
    onTestFinished(() => other.close());
    const source = await openSqliteMoveSource(endpoints.file);
    expect(() => other.exec('SELECT * FROM companies')).toThrow(/locked/);
    expect(() => other.exec(`UPDATE companies SET name = 'A'`)).toThrow(/locked/);
    await source.close();
    other.exec(`UPDATE companies SET name = 'A'`);
    expect(other.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' });
  });
});

describe('the target', () => {
  it('is named by its flag, without its password', async () => {
    const { folder, from } = await makeFilledEndpoints();
    const to = 'postgres://leadtap:hidden@127.0.0.1:1/leadtap';
    const { code, stderr } = await run({ folder }, ['migrate', '--from', from, '--to', to]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^leadtap: .*postgres:\/\/leadtap@127\.0\.0\.1:1\/leadtap/m);
    expect(stderr).toContain('--to');
    expect(stderr).not.toMatch(/hidden|LEADTAP_DATABASE_URL/);
  });

  it('is refused if a newer Leadtap has created it', async () => {
    const endpoints = await makeFilledEndpoints();
    await endpoints.sql(
      `INSERT INTO leadtap.migrations (version, name, checksum, functions) SELECT max(version) + 1, 'newer.sql', '', '' FROM leadtap.migrations`,
    );
    const { code, stderr } = await runMove(endpoints);
    expect(code).toBe(1);
    expect(stderr).toContain('a newer Leadtap has updated the database');
    await endpoints.sql(`DELETE FROM leadtap.migrations WHERE name LIKE '%newer%'`);
    expect((await runMove(endpoints)).code).toBe(0);
  });

  it('needs only the rights of the service when its schema exists', async () => {
    const endpoints = await makeFilledEndpoints();
    const role = `mover_${randomBytes(6).toString('hex')}`;
    await endpoints.sql(`CREATE ROLE ${role} LOGIN IN ROLE leadtap_service`);
    const url = new URL(endpoints.to);
    url.username = role;
    const { code, stderr } = await run(endpoints, moveArgv({ ...endpoints, to: url.href }));
    await endpoints.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });
});
