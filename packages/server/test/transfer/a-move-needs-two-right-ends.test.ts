import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { openMoveSource } from '../../src/open-store.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { moveArgv, moveUp, run } from './commands.ts';
import { makeEnds } from './ends.ts';
import { makeFilledEnds } from './filled.ts';
import { StoreProcess } from './store-process.ts';

const PAGE_BYTES = 4096;

/** Damages every page of the file that tells of a lead. */
function spoilLeads(file: string): void {
  const bytes = readFileSync(file);
  for (let start = 0; start < bytes.length; start += PAGE_BYTES) {
    const page = bytes.subarray(start, start + PAGE_BYTES);
    if (page.includes('lead-1')) page.fill(0xff);
  }
  writeFileSync(file, bytes);
}

describe('the addresses', () => {
  it('one that is left out is that of the configuration', async () => {
    const { folder, from, to } = await makeFilledEnds();
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
    ['--replace-characters', undefined, '--replace-characters is for a move'],
  ])('%s %s is a mistake on the command line', async (flag, value, message) => {
    const ends = await makeEnds();
    const { code, stderr } = await run(ends, ['migrate', flag, ...(value === undefined ? [] : [value])]);
    expect(code).toBe(2);
    expect(stderr).toContain(`leadtap: ${message}`);
    expect(stderr).not.toContain('hidden');
  });
});

describe('the source', () => {
  it('is not made where there is none', async () => {
    const ends = await makeEnds();
    const { code, stderr } = await moveUp(ends);
    expect(code).toBe(1);
    expect(stderr).toContain(`leadtap: there is no such file (${ends.file})`);
    expect(stderr).toContain('--from');
    expect(stderr).not.toContain('LEADTAP_DATABASE_URL');
    expect(existsSync(ends.file)).toBe(false);
  });

  it('is not a file of another program', async () => {
    const ends = await makeEnds();
    const file = `${ends.folder}/notes.db`;
    writeFileSync(file, 'these are notes');
    const { code, stderr } = await run(ends, ['migrate', '--from', `sqlite:${file}`, '--to', ends.to]);
    expect(code).toBe(1);
    expect(stderr).toContain(`leadtap: the file is not an SQLite database (${file})`);
  });

  it('is told by the flag that named it when it fails later', async () => {
    const ends = await makeFilledEnds();
    spoilLeads(ends.file);
    const { code, stderr } = await moveUp(ends);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`leadtap: the database file is damaged (${ends.file})\n`),
    });
    expect(stderr).toContain('--from');
    expect(stderr).not.toContain('LEADTAP_DATABASE_URL');
  });

  it('is not moved while a service has it open', async () => {
    const ends = await makeFilledEnds();
    const service = new StoreProcess(ends.from);
    await service.call('listTokens', 'boss');
    const move = () => runLeadtap(moveArgv(ends), {}, ends.folder);
    const { code, stderr } = await move();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `leadtap: another program has the database open (${ends.file})\n  Stop the service`,
    );
    await service.close();
    expect(await move()).toMatchObject({ code: 0 });
  });

  it('can be neither read nor written by others while it is moved, and is as before afterwards', async () => {
    const ends = await makeFilledEnds();
    const { DatabaseSync } = loadDriver();
    const other = new DatabaseSync(ends.file);
    onTestFinished(() => other.close());
    const source = await openMoveSource({ kind: 'sqlite', file: ends.file });
    expect(() => other.exec('SELECT * FROM companies')).toThrow(/locked/);
    expect(() => other.exec(`UPDATE companies SET name = 'A'`)).toThrow(/locked/);
    await source.close();
    other.exec(`UPDATE companies SET name = 'A'`);
    expect(other.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' });
  });
});

describe('the target', () => {
  it('is told by the flag that named it, without its password', async () => {
    const { folder, from } = await makeFilledEnds();
    const to = 'postgres://leadtap:hidden@127.0.0.1:1/leadtap';
    const { code, stderr } = await run({ folder }, ['migrate', '--from', from, '--to', to]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^leadtap: .*postgres:\/\/leadtap@127\.0\.0\.1:1\/leadtap/m);
    expect(stderr).toContain('--to');
    expect(stderr).not.toMatch(/hidden|LEADTAP_DATABASE_URL/);
  });

  it('is not one of a newer Leadtap', async () => {
    const ends = await makeFilledEnds();
    await run(ends, ['migrate'], { env: { LEADTAP_DATABASE_URL: ends.to } });
    await ends.sql(`INSERT INTO leadtap.migrations (version, name) VALUES (9999, '9999')`);
    const { code, stderr } = await moveUp(ends);
    expect(code).toBe(1);
    expect(stderr).toContain('a newer Leadtap created the database');
    await ends.sql('DELETE FROM leadtap.migrations WHERE version = 9999');
    expect((await moveUp(ends)).code).toBe(0);
  });

  it('needs no more rights than those of the service once its schema is there', async () => {
    const ends = await makeFilledEnds();
    await run(ends, ['migrate'], { env: { LEADTAP_DATABASE_URL: ends.to } });
    const role = `mover_${randomBytes(6).toString('hex')}`;
    await ends.sql(`CREATE ROLE ${role} LOGIN IN ROLE leadtap_service`);
    const url = new URL(ends.to);
    url.username = role;
    const { code, stderr } = await run(ends, moveArgv({ ...ends, to: url.href }));
    await ends.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });
});
