import fc from 'fast-check';
import { expect, test } from 'vitest';
import { problemsOf } from './problems-of.ts';

const PASSWORD = 'hunter2-hunter2';

test.each([
  ['LEADTAP_DATABASE_URL', `postgres://app:${PASSWORD}@db.internal/leads`],
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

test('no part of a wrong signing key is shown', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9]{12,30}$/), (key) => {
      const shown = JSON.stringify(problemsOf({ LEADTAP_SIGNING_KEY: `${key}` }));
      expect(shown).toContain('has only');
      expect(shown).not.toContain(key);
    }),
  );
});
