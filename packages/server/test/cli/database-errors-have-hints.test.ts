import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { Failure } from '../../src/cli/exit.ts';
import { asFailure } from '../../src/cli/failure.ts';
import { parseConfig } from '../../src/config.ts';
import { SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from '../../src/sql/errors.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';

const PASSWORD = 'hunter2-hunter2';

const configOf = (url: string) => parseConfig({ env: { LEADTAP_DATABASE_URL: url }, cwd: '/srv/leadtap' });
const postgres = configOf(`postgres://app:${PASSWORD}@db.internal:6432/lead-base`);
const sqlite = configOf('sqlite:/var/lib/leads.db');

function failureOf(error: Error, config = postgres): Failure {
  const failure = asFailure(error, config);
  if (failure instanceof Failure) return failure;
  throw new Error('not a failure that a person can fix');
}

const because = (message: string, code?: string) =>
  new StoreUnavailableError('it cannot be used', {
    cause: Object.assign(new Error(message), code === undefined ? {} : { code }),
  });

describe('PostgreSQL', () => {
  test.each([
    ['ECONNREFUSED', 'Start PostgreSQL'],
    ['ENOTFOUND', 'Correct the host'],
    ['ETIMEDOUT', 'firewall'],
    ['ENOENT', 'Correct the path'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'sslrootcert=FILE'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'sslmode=verify-ca'],
    ['28P01', 'Correct user and password'],
    ['28000', 'allow app to connect from this machine in pg_hba.conf'],
    ['3D000', 'Run: createdb --owner=app --encoding=UTF8 --template=template0 "lead-base"'],
    ['42501', 'GRANT CREATE ON DATABASE "lead-base" TO app'],
    ['42501', 'GRANT leadtap_owner TO app'],
    ['42501', 'GRANT leadtap_service TO app'],
    ['53300', 'LEADTAP_DATABASE_CONNECTIONS'],
    ['53100', 'Free some space'],
    ['57P03', 'Try again when PostgreSQL is ready'],
    ['55P03', 'pg_locks'],
    ['25006', 'Name the primary'],
    ['99999', 'Check LEADTAP_DATABASE_URL'],
  ])('%s: %s', (code, fix) => {
    const failure = failureOf(because('server words', code));
    expect(failure.message).toBe(`it cannot be used (postgres://app@db.internal:6432/lead-base, ${code})`);
    expect(failure.fix.join('\n')).toContain(fix);
    expect(JSON.stringify([failure.message, failure.fix])).not.toContain(PASSWORD);
  });

  test('the message of the server is shown, and the message of the driver if there is no code', () => {
    const denied = failureOf(because('permission denied for schema leadtap', '42501'));
    expect(denied.fix[0]).toBe('PostgreSQL says: permission denied for schema leadtap');
    const silent = failureOf(because('Connection terminated unexpectedly'));
    expect(silent.fix[0]).toBe('The driver says: Connection terminated unexpectedly');
    const system = failureOf(because('connect ECONNREFUSED 127.0.0.1:5432', 'ECONNREFUSED'));
    expect(system.fix).toEqual([expect.stringContaining('Start PostgreSQL')]);
  });

  test('a missing password has its own hint', () => {
    const words = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string';
    expect(failureOf(because(words)).fix).toEqual([
      `The driver says: ${words}`,
      expect.stringContaining('PGPASSWORD'),
    ]);
  });

  test('a foreign database and an old server have their own hints', () => {
    const foreign = failureOf(new UnusableDatabaseError('made by another program'));
    expect(foreign.fix).toEqual([expect.stringContaining('Name another database')]);
    const old = new UnusableDatabaseError('too old', {
      cause: Object.assign(new Error('x'), { code: '0A000' }),
    });
    expect(failureOf(old).fix.join()).toContain('version 14 or later');
  });

  test('an old schema is updated by its owner', () => {
    const { message, fix } = failureOf(new SchemaVersionError(1, 2));
    expect(message).toContain('postgres://app@db.internal:6432/lead-base');
    expect(fix.join()).toContain('the role that owns the schema');
  });
});

describe('SQLite', () => {
  test('names the file, and neither roles nor servers', () => {
    for (const error of [
      because('busy'),
      new SchemaVersionError(1, 2),
      new UnusableDatabaseError('no database'),
    ]) {
      const { message, fix } = failureOf(error, sqlite);
      expect(message).toContain('/var/lib/leads.db');
      expect(fix.join()).not.toMatch(/PostgreSQL|role|driver/);
    }
  });

  const WAIT = 'Wait until the other program has finished, or stop it, then run the same command again.';
  const FREE = 'Free some space on the disk of /var/lib, then run the same command again.';

  // The driver for Node before 22.13 gives no result code with some errors, only SQLite's words.
  test.each([
    [{ errcode: 13 }, 'x', FREE],
    [{ code: 'ERR_SQLITE_ERROR' }, 'database or disk is full', FREE],
    [{ code: 'ENOSPC' }, 'x', FREE],
    [{ errcode: 5 }, 'x', WAIT],
    [{ code: 'ERR_SQLITE_ERROR' }, 'database is locked', WAIT],
  ])('%o %s: %s', (codes, words, hint) => {
    const cause = Object.assign(new Error(words), codes);
    expect(failureOf(new StoreUnavailableError('it cannot be used', { cause }), sqlite).fix).toEqual([hint]);
  });

  test('a missing permission names the nearest folder that exists', () => {
    const folder = tempFolder();
    const config = configOf(`sqlite:${join(folder, 'data/new/leads.db')}`);
    expect(failureOf(because('denied', 'EACCES'), config).fix).toEqual([
      `Allow this user to write to ${folder}.`,
    ]);
  });

  test('a lock of another program is not reported as a wrong setting', async () => {
    const file = join(tempFolder(), 'leads.db');
    const store = await openSqliteStore({ file, writeLockWaitMs: 0 });
    const other = new Connection(file);
    other.exec('BEGIN IMMEDIATE');
    const error = await store.revokeToken('any').catch((reason: Error) => reason);
    other.close();
    await store.close();
    const { message, fix } = failureOf(error instanceof Error ? error : new Error('it was revoked'), sqlite);
    expect(message).toBe('another program holds the lock of the database (/var/lib/leads.db)');
    expect(fix).toEqual([WAIT]);
  });
});

test('other errors are returned unchanged', () => {
  const defect = new TypeError('a defect');
  expect(asFailure(defect, postgres)).toBe(defect);
});
