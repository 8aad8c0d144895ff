import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENT_VARIABLE_NAMES, VARIABLE_NAMES } from '../../packages/server/src/config/variables.ts';
import { type Config, ConfigError } from '../../packages/server/src/config.ts';
import { ROOT } from './support/dockerfile.ts';
import { composeEnvironment, configOf, podEnvironment } from './support/environment.ts';
import { readCompose, readPod, readSecretsExample, readText } from './support/manifests.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
const COMPOSE_SECRETS = { POSTGRES_PASSWORD: 'owner', SERVICE_PASSWORD: 'service', LEADTAP_SIGNING_KEY: KEY };
const LOGIN = /CREATE ROLE (\w+)/.exec(readText('deploy/postgres/login.sql'))?.[1];

const loginOf = ({ database }: Config): string =>
  database.kind === 'postgres' ? new URL(database.url).username : 'none';

/** Several instances share the database, Redis and the key, and connect as the role with the fewest permissions. */
function expectSharedInstance(config: Config): void {
  expect(config).toMatchObject({
    host: '0.0.0.0',
    port: 3000,
    metricsAddress: { host: '0.0.0.0', port: 9464 },
    database: { kind: 'postgres' },
    redisUrl: expect.stringMatching(/^rediss?:/),
    signingKey: { secrets: [KEY] },
    publicUrl: expect.stringMatching(/^http/),
    trustProxy: 1,
    autoMigrate: false,
  });
  expect(loginOf(config)).toBe(LOGIN);
}

describe('compose.yaml', () => {
  const { leadtap, migrate, login } = readCompose();
  if (leadtap === undefined || migrate === undefined || login === undefined) throw new Error('services');

  test('starts instances that share database, Redis and key', () => {
    expectSharedInstance(configOf(composeEnvironment(leadtap, COMPOSE_SECRETS)));
    expect(leadtap.deploy?.replicas).toBe(3);
  });

  test('migrates as the owner; no instance gets the owner password', () => {
    expect(loginOf(configOf(composeEnvironment(migrate, COMPOSE_SECRETS)))).toBe('postgres');
    expect(migrate.command).toEqual(['migrate']);
    expect(Object.values(composeEnvironment(leadtap, COMPOSE_SECRETS))).not.toContain('owner');
  });

  test('every variable of .env reaches the instances', () => {
    const dotEnv = { ...COMPOSE_SECRETS, LEADTAP_INTAKE: 'urls', LEADTAP_SILENT_AFTER: '15m' };
    const { acceptsUrlTokens, silentAfterMs } = configOf(composeEnvironment(leadtap, dotEnv));
    expect({ acceptsUrlTokens, silentAfterMs }).toEqual({ acceptsUrlTokens: true, silentAfterMs: 900_000 });
  });

  test.each(Object.keys(COMPOSE_SECRETS))(
    'does not start without %s, and names docs/deployment.md',
    (name) => {
      const { [name]: _, ...others } = COMPOSE_SECRETS as Record<string, string>;
      const start = () => Object.values(readCompose()).map((service) => composeEnvironment(service, others));
      expect(start).toThrow(/docs\/deployment\.md/);
    },
  );
});

describe('deploy/kubernetes', () => {
  const examples = readSecretsExample();
  const secrets = examples.map((secret) => ({
    ...secret,
    stringData: {
      ...secret.stringData,
      ...('LEADTAP_SIGNING_KEY' in secret.stringData && { LEADTAP_SIGNING_KEY: KEY }),
    },
  }));

  test('starts instances that share database, Redis and key', () => {
    expectSharedInstance(configOf(podEnvironment(readPod('deployment.yaml'), secrets)));
  });

  test('migrates as the owner; no instance gets the owner password', () => {
    const migrate = podEnvironment(readPod('migrate.yaml'), secrets);
    expect(loginOf(configOf(migrate))).toBe('OWNER');
    expect(Object.keys(migrate)).toEqual(['LEADTAP_DATABASE_URL']);
    expect(Object.values(podEnvironment(readPod('deployment.yaml'), secrets)).join()).not.toContain('OWNER');
  });

  test('does not start with the secrets of the example', () => {
    const start = () => configOf(podEnvironment(readPod('deployment.yaml'), examples));
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(/LEADTAP_SIGNING_KEY/);
  });
});

/** Other names, such as roles and alerts, are in lower case. */
const NAMES = /\bLEADTAP_[A-Z_]+\b/g;
const folder = readdirSync(join(ROOT, 'deploy'), { recursive: true, withFileTypes: true });
const files = folder.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
const paths = files.map((file) => file.slice(ROOT.length));

test.each([...paths, 'Dockerfile', 'compose.yaml', 'docs/deployment.md'])(
  '%s names only existing variables',
  (path) => {
    const known = [...VARIABLE_NAMES, ...CLIENT_VARIABLE_NAMES];
    const named = readText(path).match(NAMES) ?? [];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  },
);
