import { resolve } from 'node:path';
import fc from 'fast-check';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { describeDatabase, describeRedis } from '../../src/config.ts';
import { configOf, problemsOf } from './support/parse.ts';

const URL_NAME = 'LEADTAP_DATABASE_URL';

function postgresOf(url: string) {
  const { database } = configOf({ [URL_NAME]: url });
  if (database.kind !== 'postgres') throw new Error('not PostgreSQL');
  return database;
}

const optionsOf = (url: string) => Object.fromEntries(new URL(postgresOf(url).url).searchParams);

describe('the address of PostgreSQL', () => {
  test.each([
    ['postgres://db/leads', 'postgres://db:5432/leads'],
    ['postgresql://db/leads', 'postgres://db:5432/leads'],
    ['POSTGRES://app:secret@db.internal:6432/leads', 'postgres://app@db.internal:6432/leads'],
    ['postgres://app:secret@[::1]/leads?sslmode=disable', 'postgres://app@[::1]:5432/leads'],
    ['postgres:///leads?host=/run/pg', 'postgres:///leads?host=/run/pg'],
    ['postgres://app:secret@/leads?host=/run/pg&port=5433', 'postgres://app@/leads?host=/run/pg&port=5433'],
    ['postgres://app@localhost/leads?host=%2Frun%2Fpg', 'postgres://app@/leads?host=/run/pg'],
  ])('%s is shown as %s', (url, shown) => {
    expect(describeDatabase(postgresOf(url))).toBe(shown);
  });

  test.each([
    ['postgres://app@/leads', 'names no host'],
    ['postgres:///leads', 'names no host'],
    ['postgres://one,two/leads', 'several hosts'],
    ['postgres://db', 'names no database'],
    ['postgres://db/?host=/run/pg', 'names no database'],
    ['postgres://db/leads/more', 'not the name of a database'],
    ['postgres://db/leads#', '#'],
    ['postgres://db:port/leads', 'not a valid address'],
    ['postgres://app:100%@db/leads', 'not a valid escape'],
    ['postgres://app:12/34@db/leads', 'an @'],
    ['postgres://app:12?34@db/leads', 'an @'],
    ['postgres://app:12#34@db/leads', 'an @'],
    ['postgres://app:a/b@db/leads', 'not a valid address'],
    ['postgres://db/leads?options=-c', 'unknown'],
    ['postgres://db/leads?password=x', 'unknown'],
    ['postgres://db/leads?sslmode=', 'empty'],
    ['postgres://db/leads?sslmode=disable&sslmode=verify-full', 'repeated'],
    ['postgres://db/leads?host=other', 'not a folder'],
    ['postgres://db/leads?host=/run&port=x', 'not a port'],
    ['postgres://db/leads?sslmode=prefer', 'sslmode is none of'],
    ['postgres://db/leads?sslmode=no-verify', 'sslmode is none of'],
    ['postgres://db/leads?sslmode=verify-ca', 'needs sslrootcert'],
    ['postgres://db/leads?sslcert=a.crt', 'only one of'],
  ])('%s is refused', (url, reason) => {
    const problems = problemsOf({ [URL_NAME]: url });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.problem).toContain(reason);
  });

  test('an address with an unencoded password is reported with how to encode it', () => {
    const [problem] = problemsOf({ [URL_NAME]: 'postgres://app:a/b@db/leads' });
    expect(problem?.fix).toContain('/ as %2F');
  });

  test('any user, password and database reach the driver as they are', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(name, name, fc.stringMatching(/^[a-z_][a-z0-9_-]{0,20}$/), (user, password, database) => {
        const url = `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@db/${database}`;
        expect(new Client(postgresOf(url).url)).toMatchObject({ user, password, host: 'db', database });
      }),
    );
  });

  test('a socket reaches the driver', () => {
    const { url } = postgresOf('postgres://app:secret@/leads?host=/run/pg&port=5433');
    expect(new Client(url)).toMatchObject({ user: 'app', host: '/run/pg', port: 5433, database: 'leads' });
  });
});

describe('sslmode of the driver', () => {
  test('require verifies the certificate', () =>
    expect(optionsOf('postgres://db/leads?sslmode=require')).toEqual({ sslmode: 'verify-full' }));
  test('the certificate of an authority alone means verify-full, and its path is absolute', () =>
    expect(optionsOf('postgres://db/leads?sslrootcert=ca.crt')).toEqual({
      sslrootcert: resolve('/srv/leadtap/ca.crt'),
      sslmode: 'verify-full',
    }));
  test('verify-ca has the meaning that it has in PostgreSQL', () =>
    expect(optionsOf('postgres://db/leads?sslmode=verify-ca&sslrootcert=/ca.crt')).toEqual({
      sslmode: 'verify-ca',
      sslrootcert: resolve('/ca.crt'),
      uselibpqcompat: 'true',
    }));
  test.each([['disable'], ['verify-full']])('%s stays', (sslmode) =>
    expect(optionsOf(`postgres://db/leads?sslmode=${sslmode}`)).toEqual({ sslmode }),
  );
  test('without options the driver gets none', () => expect(optionsOf('postgres://db/leads')).toEqual({}));
});

describe('LEADTAP_DATABASE_CONNECTIONS', () => {
  const postgres = { [URL_NAME]: 'postgres://db/leads' };
  test.each([2, 37, 1000])('%i', (connections) =>
    expect(
      configOf({ ...postgres, LEADTAP_DATABASE_CONNECTIONS: String(connections) }).database,
    ).toMatchObject({
      connections,
    }),
  );
  test.each(['0', '1', '1001', '-1', '2.5', 'many'])('%s is refused', (text) =>
    expect(problemsOf({ ...postgres, LEADTAP_DATABASE_CONNECTIONS: text })).toHaveLength(1),
  );
  test('is refused if it has no effect', () => {
    const [problem] = problemsOf({ LEADTAP_DATABASE_CONNECTIONS: '20' });
    expect(problem?.problem).toBe('it has no effect without PostgreSQL');
  });
  test('is not reported if the address is invalid', () => {
    const env = { [URL_NAME]: 'postgres://db', LEADTAP_DATABASE_CONNECTIONS: '20' };
    expect(problemsOf(env).map(({ name }) => name)).toEqual([URL_NAME]);
  });
});

describe('LEADTAP_REDIS_URL', () => {
  test.each([
    ['redis://localhost', 'redis://localhost:6379'],
    ['redis://:secret@cache:7000/3', 'redis://cache:7000/3'],
    ['rediss://app:secret@[::1]/', 'rediss://app@[::1]:6379'],
  ])('%s is shown as %s', (url, shown) => {
    const { redisUrl = '' } = configOf({ LEADTAP_REDIS_URL: url });
    expect(new URL(redisUrl).password).toBe(new URL(url).password);
    expect(describeRedis(redisUrl)).toBe(shown);
  });
  test.each([
    ['localhost:6379', 'does not start'],
    ['http://localhost', 'does not start'],
    ['redis://', 'names no host'],
    ['redis:///0', 'names no host'],
    ['redis://cache/leads', 'not the number'],
    ['redis://cache/0?x=1', 'no options'],
    ['redis://cache/0#', '#'],
    ['redis://:a/b@cache', 'not a valid address'],
    ['redis://:100%@cache', 'not a valid escape'],
  ])('%s is refused', (url, reason) => {
    const problems = problemsOf({ LEADTAP_REDIS_URL: url });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.problem).toContain(reason);
  });
});
