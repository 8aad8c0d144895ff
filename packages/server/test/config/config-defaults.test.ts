import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';

const cwd = resolve('/srv/leadtap');

test('an empty environment gives a configuration that works on one machine', () => {
  expect(parseConfig({ env: {}, cwd })).toEqual({
    database: { kind: 'sqlite', file: resolve(cwd, 'data/leadtap.db') },
    redisUrl: undefined,
    host: '127.0.0.1',
    port: 3000,
    basePath: '',
    publicUrl: undefined,
    trustProxy: false,
    signingKey: { file: resolve(cwd, 'data/signing.key') },
    externalTokens: undefined,
    maxLongPolls: 20_000,
    metricsAddress: { host: '127.0.0.1', port: 9464 },
    console: true,
    intake: true,
    keepRefused: true,
    acceptsUrlTokens: false,
    timeZone: 'UTC',
    hooks: true,
    hookHosts: [],
    silentAfterMs: undefined,
    autoMigrate: true,
    logLevel: 'info',
  });
});

test('the signing key is in the folder of the SQLite file by default', () => {
  const beside = parseConfig({ env: { LEADTAP_DATABASE_URL: 'sqlite:/var/lib/leadtap/leads.db' }, cwd });
  expect(beside.signingKey).toEqual({ file: resolve('/var/lib/leadtap/signing.key') });
  const elsewhere = parseConfig({ env: { LEADTAP_SIGNING_KEY_FILE: 'keys/current.key' }, cwd });
  expect(elsewhere.signingKey).toEqual({ file: resolve(cwd, 'keys/current.key') });
});

test('with PostgreSQL the signing key is in ./data by default', () => {
  const config = parseConfig({ env: { LEADTAP_DATABASE_URL: 'postgres://db/leads' }, cwd });
  expect(config.database).toEqual({ kind: 'postgres', url: 'postgres://db/leads', connections: 10 });
  expect(config.signingKey).toEqual({ file: resolve(cwd, 'data/signing.key') });
});

test('the configuration is deeply frozen', () => {
  const config = parseConfig({ env: { LEADTAP_TRUST_PROXY: 'loopback' }, cwd });
  for (const part of [config, config.database, config.signingKey, config.metricsAddress, config.trustProxy])
    expect(Object.isFrozen(part)).toBe(true);
});
