import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { terminal, terminalWithUsers } from './terminal.ts';

test('org apply creates the database and the key, with which tokens can be issued', async () => {
  const { run, save, path } = terminal({ empty: true });
  save('organisation.json', ORGANISATION);
  expect((await run('org apply organisation.json')).code).toBe(0);
  const key = readFileSync(path('data/signing.key'), 'utf8');
  expect((await run('token issue --user boss')).code).toBe(0);
  expect(readFileSync(path('data/signing.key'), 'utf8')).toBe(key);
});

test('org apply with an invalid file creates nothing', async () => {
  const { run, save, cwd } = terminal({ empty: true });
  save('organisation.json', { companies: [{}] });
  expect((await run('org apply organisation.json')).code).toBe(1);
  expect(readdirSync(cwd)).toEqual(['organisation.json']);
});

test('token issue creates no key, because the service would reject its tokens', async () => {
  const { run, path } = await terminalWithUsers();
  rmSync(path('data/signing.key'));
  const { code, stdout, stderr } = await run('token issue --user boss');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`leadtap: there is no signing key file (${path('data/signing.key')})\n`);
  expect(stderr).toContain('LEADTAP_SIGNING_KEY_FILE');
  expect(existsSync(path('data/signing.key'))).toBe(false);
});
