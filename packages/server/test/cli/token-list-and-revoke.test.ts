import { expect, test } from 'vitest';
import { toIso } from '../../src/lib/clock.ts';
import { NOW, terminalWithUsers } from './terminal.ts';

/** Half an hour after a time that is cut to the second. */
const EXPIRES_AT = Math.floor(NOW / 1000) * 1000 + 30 * 60_000;

async function issued(expiresIn = '90d') {
  const shell = await terminalWithUsers();
  const { stdout } = await shell.run(`token issue --user boss --expires-in ${expiresIn} --json`);
  const { tokenId, token }: { tokenId: string; token: string } = JSON.parse(stdout);
  return { ...shell, tokenId, token };
}

test('a token is active, then expired; a revoked one stays revoked', async () => {
  const { run, tokenId } = await issued('30m');
  const stateAt = async (now: number) =>
    JSON.parse((await run('token list --user boss --json', { parts: { clock: () => now } })).stdout)[0].state;
  expect(await stateAt(EXPIRES_AT - 1)).toBe('active');
  expect(await stateAt(EXPIRES_AT)).toBe('expired');
  expect(await run(`token revoke ${tokenId}`)).toMatchObject({
    code: 0,
    stdout: `Token ${tokenId} was revoked.\n`,
  });
  expect(await stateAt(NOW)).toBe('revoked');
  expect(await stateAt(EXPIRES_AT)).toBe('revoked');
});

test('token list shows the id, the name, the scopes and the times', async () => {
  const { run, tokenId } = await issued();
  await run(`token revoke ${tokenId}`);
  expect(JSON.parse((await run('token list --user boss --json')).stdout)).toEqual([
    {
      tokenId,
      userId: 'boss',
      name: null,
      scopes: ['leads:read'],
      issuedAt: '2026-03-02T09:30:00.000Z',
      expiresAt: '2026-05-31T09:30:00.000Z',
      revokedAt: toIso(NOW),
      state: 'revoked',
    },
  ]);
});

test('a token whose signing key was removed is not called active', async () => {
  const { run, tokenId } = await issued();
  const keys = (secret: number) => Buffer.alloc(32, secret).toString('base64');
  const stateWith = async (key: string) => {
    const { stdout } = await run('token list --user boss --json', { env: { LEADTAP_SIGNING_KEY: key } });
    return JSON.parse(stdout).find((token: { tokenId: string }) => token.tokenId === tokenId)?.state;
  };
  expect(JSON.parse((await run('token list --user boss --json')).stdout)).toMatchObject([
    { state: 'active' },
  ]);
  expect(await stateWith(keys(7))).toBe('key-removed');
});

test('token revoke --user revokes all tokens of the user', async () => {
  const { run, tokenId } = await issued();
  await run('token issue --user boss');
  await run('token issue --user boss');
  await run(`token revoke ${tokenId}`);
  expect(await run('token revoke --user boss')).toEqual({
    code: 0,
    stdout: 'Tokens of user boss that were revoked: 2.\n',
    stderr: '',
  });
  const { stdout } = await run('token list --user boss --json');
  expect(JSON.parse(stdout).map(({ state }: { state: string }) => state)).toEqual(Array(3).fill('revoked'));
  for (const wrong of ['token revoke', `token revoke ${tokenId} --user boss`])
    expect(await run(wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining('give either') });
});

test('token list distinguishes a user without tokens from an unknown user, and works after the user was removed', async () => {
  const { run, tokenId } = await issued();
  expect(await run('token list --user starter')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'User starter has no tokens yet.\n',
  });
  expect(await run('token list --user unknown')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no user unknown'),
  });
  expect((await run('user remove boss')).stdout).toBe('User boss was removed, and 1 token was revoked.\n');
  expect((await run('token list --user boss')).stdout).toContain(tokenId);
});

test('an id that was not issued here needs --force', async () => {
  const { run } = await issued();
  expect(await run('token revoke from-elsewhere')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('add --force'),
  });
  expect((await run('token revoke from-elsewhere --force')).stdout).toBe(
    'Token from-elsewhere was revoked.\n',
  );
});

test('a whole token given by mistake is not shown again', async () => {
  const { run, token } = await issued();
  const { code, stderr } = await run(`token revoke ${token}`);
  expect(code).toBe(1);
  expect(stderr).toContain('this is a token, not the id of a token');
  expect(stderr).not.toContain(token);
});
