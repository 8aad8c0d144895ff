import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { configOf, problemsOf } from './support/parse.ts';

const file = (path: string) => resolve('/srv/leadtap', path);
const EXTERNAL = { LEADTAP_TOKEN_ISSUER: 'https://id.example.com/', LEADTAP_TOKEN_AUDIENCE: 'leadtap' };
const SECRET = Buffer.alloc(32, 7).toString('base64');
const OTHER_SECRET = Buffer.alloc(48, 9).toString('base64url');

describe('LEADTAP_DATABASE_URL', () => {
  test.each([
    ['sqlite:./leads.db', file('leads.db')],
    ['sqlite:data/leads.db', file('data/leads.db')],
    ['sqlite:/var/lib/leads.db', resolve('/var/lib/leads.db')],
    ['sqlite:///var/lib/leads.db', resolve('/var/lib/leads.db')],
    ['sqlite:../my leads.db', resolve('/srv/my leads.db')],
  ])('%s', (url, path) =>
    expect(configOf({ LEADTAP_DATABASE_URL: url }).database).toEqual({ kind: 'sqlite', file: path }),
  );

  test.each([
    ['sqlite::memory:', 'cannot be shared'],
    ['sqlite:', 'names no file'],
    ['sqlite:./data/', 'names no file'],
    ['sqlite:..', 'names no file'],
    ['sqlite://data/leads.db', 'names a host'],
    ['sqlite:~/leads.db', '~'],
    ['sqlite:leads.db?mode=ro', 'no options'],
    ['mysql://db/leads', 'neither'],
    ['postgres:db', 'neither'],
    ['./leads.db', 'neither'],
  ])('%s is refused', (url, reason) =>
    expect(problemsOf({ LEADTAP_DATABASE_URL: url })[0]?.problem).toContain(reason),
  );
});

describe('LEADTAP_HOST and LEADTAP_PORT', () => {
  test.each(['0.0.0.0', '::', '::1', 'localhost', 'leads.internal'])('host %s', (host) =>
    expect(configOf({ LEADTAP_HOST: host }).host).toBe(host),
  );
  test('brackets of an IPv6 address are dropped', () =>
    expect(configOf({ LEADTAP_HOST: '[::1]' }).host).toBe('::1'));
  test.each(['localhost:3000', 'http://localhost', '300.0.0.1', '1.2.3', 'a b', '-x', 'a..b'])(
    'host %s is refused',
    (host) => expect(problemsOf({ LEADTAP_HOST: host })).toHaveLength(1),
  );
  test.each([
    ['0', 0],
    ['80', 80],
    ['65535', 65_535],
  ])('port %s', (text, port) => expect(configOf({ LEADTAP_PORT: text }).port).toBe(port));
  test.each(['65536', '-1', '3.5', '0x50', '1e3', 'http'])('port %s is refused', (text) =>
    expect(problemsOf({ LEADTAP_PORT: text })).toHaveLength(1),
  );
});

describe('LEADTAP_BASE_PATH', () => {
  test.each([
    ['/', ''],
    ['/api', '/api'],
    ['/api/', '/api'],
    ['/v1/lead-tap_2.0~', '/v1/lead-tap_2.0~'],
  ])('%s', (text, path) => expect(configOf({ LEADTAP_BASE_PATH: text }).basePath).toBe(path));
  test.each(['api', '/a//b', '/a/../b', '/.', '/a b', '/a?b', '/:id', '/*', '/a%20b'])(
    '%s is refused',
    (text) => expect(problemsOf({ LEADTAP_BASE_PATH: text })).toHaveLength(1),
  );
});

describe('LEADTAP_PUBLIC_URL', () => {
  test.each([
    ['https://leads.example.com', 'https://leads.example.com/api'],
    ['https://leads.example.com/', 'https://leads.example.com/api'],
    ['http://LEADS.example.com:8080', 'http://leads.example.com:8080/api'],
    ['https://example.com/leads/', 'https://example.com/leads'],
  ])('%s with the base path /api', (url, publicUrl) =>
    expect(configOf({ LEADTAP_PUBLIC_URL: url, LEADTAP_BASE_PATH: '/api' }).publicUrl).toBe(publicUrl),
  );
  test.each(['leads.example.com', '/api', 'ftp://x.com', 'https://x.com/?', 'https://x.com/#a', 'https://'])(
    '%s is refused',
    (url) => expect(problemsOf({ LEADTAP_PUBLIC_URL: url })).toHaveLength(1),
  );
});

describe('LEADTAP_TRUST_PROXY', () => {
  test.each([
    ['false', false],
    ['0', false],
    ['true', 1],
    ['2', 2],
    ['10.0.0.0/8, ::1,loopback', ['10.0.0.0/8', '::1', 'loopback']],
    ['linklocal,uniquelocal,fc00::/7', ['linklocal', 'uniquelocal', 'fc00::/7']],
  ])('%s', (text, trust) => expect(configOf({ LEADTAP_TRUST_PROXY: text }).trustProxy).toEqual(trust));
  test.each(['yes', '10.0.0.0/33', '::/129', '10.0.0.0/8,', '10.0.0.0/8/8', 'fe80::1%eth0', '1000', '-1'])(
    '%s is refused',
    (text) => expect(problemsOf({ LEADTAP_TRUST_PROXY: text })).toHaveLength(1),
  );
  test('a range of all addresses is refused, with the reason', () =>
    expect(problemsOf({ LEADTAP_TRUST_PROXY: '0.0.0.0/0' })[0]?.problem).toContain('choose its own address'));
});

describe('LEADTAP_SIGNING_KEY', () => {
  test.each([' ', ',', ', ', '\n'])('several secrets, separated by %j', (separator) =>
    expect(configOf({ LEADTAP_SIGNING_KEY: [SECRET, OTHER_SECRET].join(separator) }).signingKey).toEqual({
      secrets: [SECRET, OTHER_SECRET],
    }),
  );
  test('31 bytes are too few', () => {
    const short = Buffer.alloc(31, 7).toString('base64');
    expect(problemsOf({ LEADTAP_SIGNING_KEY: `${SECRET},${short}` })[0]?.problem).toBe(
      'secret 2 of 2 has only 31 bytes',
    );
  });
  test.each([',', 'this is not, base64!'])('%j is refused', (text) =>
    expect(problemsOf({ LEADTAP_SIGNING_KEY: text })).toHaveLength(1),
  );
  test('a key and a key file at once are refused', () => {
    const [problem] = problemsOf({ LEADTAP_SIGNING_KEY: SECRET, LEADTAP_SIGNING_KEY_FILE: 'signing.key' });
    expect(problem).toMatchObject({
      name: 'LEADTAP_SIGNING_KEY_FILE',
      problem: 'LEADTAP_SIGNING_KEY is set too',
    });
  });
});

describe('LEADTAP_JWKS_URL, LEADTAP_TOKEN_ISSUER and LEADTAP_TOKEN_AUDIENCE', () => {
  const url = 'https://id.example.com/jwks.json';
  test.each([
    [url, { kind: 'url', url }],
    ['http://localhost:8080/jwks', { kind: 'url', url: 'http://localhost:8080/jwks' }],
    [pathToFileURL('/etc/jwks.json').href, { kind: 'file', file: resolve('/etc/jwks.json') }],
    ['file:keys/jwks.json', { kind: 'file', file: file('keys/jwks.json') }],
    ['./jwks.json', { kind: 'file', file: file('jwks.json') }],
    ['jwks.json', { kind: 'file', file: file('jwks.json') }],
  ])('%s', (text, jwks) =>
    expect(configOf({ LEADTAP_JWKS_URL: text, ...EXTERNAL }).externalTokens).toEqual({
      jwks,
      issuer: 'https://id.example.com/',
      audience: 'leadtap',
    }),
  );
  test.each(['ftp://x.com/jwks', 'https://', 'id.example.com/jwks.json', 'file://other-host/jwks.json'])(
    '%s is refused',
    (text) =>
      expect(problemsOf({ LEADTAP_JWKS_URL: text, ...EXTERNAL }).map(({ name }) => name)).toEqual([
        'LEADTAP_JWKS_URL',
      ]),
  );
  test('issuer and audience are needed with it and only with it', () => {
    const names = ['LEADTAP_TOKEN_ISSUER', 'LEADTAP_TOKEN_AUDIENCE'];
    expect(problemsOf({ LEADTAP_JWKS_URL: url }).map(({ name }) => name)).toEqual(names);
    expect(problemsOf(EXTERNAL).map(({ name }) => name)).toEqual(names);
  });
});

describe('LEADTAP_TIME_ZONE', () => {
  test.each([
    ['Europe/Paris', 'Europe/Paris'],
    ['europe/paris', 'Europe/Paris'],
    ['UTC', 'UTC'],
  ])('%s', (text, zone) => expect(configOf({ LEADTAP_TIME_ZONE: text }).timeZone).toBe(zone));

  test.each(['Paris', 'CEST', 'Europe/Pariss'])('%s is refused', (text) =>
    expect(problemsOf({ LEADTAP_TIME_ZONE: text })[0]?.problem).toContain('is not a time zone'),
  );
});

describe('LEADTAP_SILENT_AFTER', () => {
  test.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
  ])('%s', (text, ms) => expect(configOf({ LEADTAP_SILENT_AFTER: text }).silentAfterMs).toBe(ms));

  test.each(['15', '0m', 'soon', '-5m', '1.5h'])('%s is refused', (text) =>
    expect(problemsOf({ LEADTAP_SILENT_AFTER: text })[0]?.fix).toBe('Write 90s, 15m, 2h or 1d.'),
  );
});

describe('LEADTAP_MAX_LONG_POLLS', () => {
  test.each([
    ['0', 0],
    ['20000', 20_000],
    ['1000000', 1_000_000],
  ])('%s', (text, count) => expect(configOf({ LEADTAP_MAX_LONG_POLLS: text }).maxLongPolls).toBe(count));

  test.each(['-1', '1.5', '1e3', '1000001', 'many', 'off'])('%s is refused', (text) =>
    expect(problemsOf({ LEADTAP_MAX_LONG_POLLS: text })).toHaveLength(1),
  );
});

describe('LEADTAP_METRICS_ADDRESS', () => {
  test.each([
    ['off', 'off'],
    ['0.0.0.0:9000', { host: '0.0.0.0', port: 9000 }],
    ['[::1]:9464', { host: '::1', port: 9464 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
  ])('%s', (text, address) =>
    expect(configOf({ LEADTAP_METRICS_ADDRESS: text }).metricsAddress).toEqual(address),
  );
  test.each(['9464', ':9464', '::1:9464', 'localhost:', 'localhost:x', '[bad]:1', 'on', 'localhost:70000'])(
    '%s is refused',
    (text) => expect(problemsOf({ LEADTAP_METRICS_ADDRESS: text })).toHaveLength(1),
  );
  test.each([
    ['127.0.0.1', '127.0.0.1:3000', 1],
    ['0.0.0.0', '127.0.0.1:3000', 1],
    ['127.0.0.1', '[::]:3000', 1],
    ['10.0.0.1', '127.0.0.1:3000', 0],
    ['127.0.0.1', '127.0.0.1:3001', 0],
  ])('host %s and metrics on %s: %i problem', (host, metrics, count) =>
    expect(problemsOf({ LEADTAP_HOST: host, LEADTAP_METRICS_ADDRESS: metrics })).toHaveLength(count),
  );
});

test('LEADTAP_AUTO_MIGRATE and LEADTAP_LOG_LEVEL', () => {
  expect(configOf({ LEADTAP_AUTO_MIGRATE: 'false' }).autoMigrate).toBe(false);
  expect(problemsOf({ LEADTAP_AUTO_MIGRATE: '1' })).toHaveLength(1);
  expect(configOf({ LEADTAP_LOG_LEVEL: 'silent' }).logLevel).toBe('silent');
  expect(problemsOf({ LEADTAP_LOG_LEVEL: 'INFO' })).toHaveLength(1);
});
