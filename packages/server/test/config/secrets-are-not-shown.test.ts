import fc from 'fast-check';
import { expect, test } from 'vitest';
import { problemsOf } from './support/parse.ts';

const PASSWORD = 'hunter2-hunter2';

test.each([
  ['LEADTAP_DATABASE_URL', `mysql://app:${PASSWORD}@db.internal/leads`],
  ['LEADTAP_DATABASE_URL', `postgres://app:${PASSWORD}@db.internal`],
  ['LEADTAP_DATABASE_URL', `postgres://app:12?${PASSWORD}@db.internal/leads`],
  ['LEADTAP_DATABASE_URL', `postgres://db.internal/leads?password=${PASSWORD}`],
  ['LEADTAP_DATABASE_URL', `postgres://db.internal/leads?${PASSWORD}`],
  ['LEADTAP_REDIS_URL', `redis://:${PASSWORD}@cache/leads`],
  ['LEADTAP_REDIS_URL', `:${PASSWORD}@cache`],
  ['LEADTAP_DATABASE_URL', `sqlite:./data/leads.db?key=${PASSWORD}`],
  ['LEADTAP_PUBLIC_URL', `https://app:${PASSWORD}@leads.example.com`],
  ['LEADTAP_PUBLIC_URL', `https://leads.example.com/?key=${PASSWORD}`],
  ['LEADTAP_SIGNING_KEY', PASSWORD],
  ['LEADTAP_SIGNING_KEY', `${'A'.repeat(44)} ${PASSWORD}!`],
  ['LEADTAP_JWKS_URL', `https://app:${PASSWORD}@id.example.com/jwks.json`],
])('%s is refused without showing its value', (name, value) => {
  const problems = problemsOf({ [name]: value });
  expect(problems[0]?.name).toBe(name);
  expect(JSON.stringify(problems)).not.toContain(PASSWORD);
});

test('no message about an address shows its password', () => {
  const anyPassword = fc
    .tuple(fc.string(), fc.string())
    .map(([before, after]) => `${before}${PASSWORD}${after}`);
  fc.assert(
    fc.property(anyPassword, (password) => {
      const env = {
        LEADTAP_DATABASE_URL: `postgres://app:${password}@db`,
        LEADTAP_REDIS_URL: `redis://app:${password}@cache/x`,
      };
      const shown = JSON.stringify(problemsOf(env));
      expect(shown).toContain('LEADTAP_DATABASE_URL');
      expect(shown).toContain('LEADTAP_REDIS_URL');
      expect(shown).not.toContain(PASSWORD);
    }),
  );
});

test('no part of a wrong signing key is shown', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9]{12,30}$/), (key) => {
      const shown = JSON.stringify(problemsOf({ LEADTAP_SIGNING_KEY: `${key}` }));
      expect(shown).toContain('has only');
      expect(shown).not.toContain(key);
    }),
  );
});
