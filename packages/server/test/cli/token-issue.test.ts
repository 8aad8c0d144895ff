import { describe, expect, test } from 'vitest';
import { loadSigningKeys } from '../../src/accounts/signing-keys.ts';
import { makeVerifyToken } from '../../src/accounts/tokens.ts';
import { parseLifetime } from '../../src/cli/accounts/issued-tokens.ts';
import { toIso } from '../../src/lib/clock.ts';
import { NOW, terminalWithUsers } from './terminal.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Times in a token are whole seconds. */
const ISSUED_AT = Math.floor(NOW / 1000) * 1000;

type Shell = Awaited<ReturnType<typeof terminalWithUsers>>;

async function verify({ path }: Shell, token: string, at = NOW) {
  const keys = await loadSigningKeys({ file: path('data/signing.key') });
  return makeVerifyToken({ keys, clock: () => at })(token);
}

test('only the token is on standard output; it works and is recorded', async () => {
  const shell = await terminalWithUsers();
  const { code, stdout, stderr } = await shell.run(['token', 'issue', '--user', 'boss', '--name', 'Zapier']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);

  const [recorded] = JSON.parse((await shell.run('token list --user boss --json')).stdout);
  expect(recorded).toMatchObject({
    userId: 'boss',
    name: 'Zapier',
    issuedAt: toIso(ISSUED_AT),
    expiresAt: toIso(ISSUED_AT + 90 * DAY_MS),
    state: 'active',
  });
  expect(await verify(shell, stdout.trim())).toMatchObject({
    kind: 'valid',
    token: { userId: 'boss', tokenId: recorded.tokenId, scopes: ['leads:read'] },
  });
});

test('it expires at the recorded second', async () => {
  const shell = await terminalWithUsers();
  const { stdout } = await shell.run('token issue --user boss --expires-in 30m --json');
  const { token, expiresAt } = JSON.parse(stdout);
  expect(expiresAt).toBe(toIso(ISSUED_AT + 30 * MINUTE_MS));
  expect((await verify(shell, token, Date.parse(expiresAt) - 1)).kind).toBe('valid');
  expect((await verify(shell, token, Date.parse(expiresAt))).kind).toBe('expired');
});

test('--all-users --json issues one for every user', async () => {
  const shell = await terminalWithUsers();
  const { code, stdout } = await shell.run('token issue --all-users --json');
  const issued: { userId: string; token: string; tokenId: string; expiresAt: string }[] = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(issued).toHaveLength(7);
  for (const { userId, tokenId, token, ...rest } of issued) {
    expect(rest).toEqual({ expiresAt: toIso(ISSUED_AT + 90 * DAY_MS), scopes: ['leads:read'] });
    expect(await verify(shell, token)).toMatchObject({ kind: 'valid', token: { userId, tokenId } });
  }
  expect((await shell.run('token list --user starter')).stdout).toContain(issued[6]?.tokenId);
});

describe('--source', () => {
  test('issues a token that sends the webhooks of a service, with the fields of its answers', async () => {
    const shell = await terminalWithUsers();
    const map = ['--map', 'Name?=fullName', '--map', 'a=b=customFields.c'];
    const options = ['--source', 'typeform', ...map, '--time-zone', 'europe/paris'];
    const { stdout } = await shell.run(['token', 'issue', '--user', 'boss', ...options]);
    expect(await verify(shell, stdout.trim())).toMatchObject({
      token: {
        scopes: ['leads:write'],
        source: { name: 'typeform', map: { 'Name?': 'fullName', 'a=b': 'customFields.c' } },
        timeZone: 'Europe/Paris',
      },
    });
  });

  test.each([
    [
      ['--source', 'fax'],
      'Allowed choices are calendly, elementor, facebook, form, google-ads, jotform, tally, typeform, webflow',
    ],
    [['--map', 'Name=fullName'], '--map needs --source'],
    [['--source', 'form', '--map', 'Name'], 'Write ANSWER=FIELD'],
    [['--source', 'form', '--map', 'Name=fulName'], 'did you mean fullName?'],
    [['--source', 'form', '--map', 'Date=createdAt'], 'is set by Leadtap'],
    [['--source', 'form', '--map', `${'x'.repeat(9000)}=fullName`], 'the token would be too long'],
    [['--source', 'form', '--scope', 'leads:read'], '--source needs the scope leads:write'],
    [['--time-zone', 'Europe/Paris'], '--time-zone needs the scope leads:write'],
    [['--source', 'form', '--time-zone', 'Paris'], 'Write the name of a time zone'],
  ])('%j is refused', async (options, message) => {
    const shell = await terminalWithUsers();
    const { code, stderr } = await shell.run(['token', 'issue', '--user', 'boss', ...options]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('--scope', () => {
  const claimOf = (token: string): unknown =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).scope;

  test.each([
    ['', undefined, ['leads:read']],
    ['--scope leads:read', 'leads:read', ['leads:read']],
    ['--scope leads:write', 'leads:write', ['leads:write']],
    ['--scope leads:write --scope leads:read', 'leads:read leads:write', ['leads:read', 'leads:write']],
    ['--scope leads:write --scope leads:write', 'leads:write', ['leads:write']],
  ])('%s: the claim is %s, and it is recorded', async (options, claim, scopes) => {
    const shell = await terminalWithUsers();
    const issued = JSON.parse((await shell.run(`token issue --user boss --json ${options}`.trim())).stdout);
    expect(claimOf(issued.token)).toBe(claim);
    expect(issued.scopes).toEqual(scopes);
    expect(await verify(shell, issued.token)).toMatchObject({ token: { scopes } });
    const [recorded] = JSON.parse((await shell.run('token list --user boss --json')).stdout);
    expect(recorded.scopes).toEqual(scopes);
    expect((await shell.run('token list --user boss')).stdout).toContain(scopes.join(' '));
  });

  test('is shown on a terminal; a token that cannot poll needs no plan', async () => {
    const { run } = await terminalWithUsers();
    const { stderr } = await run('token issue --user starter --scope leads:write', { isTTY: true });
    expect(stderr).toContain('Its scope is leads:write.');
    expect(stderr).not.toContain('--plan');
  });
});

test('a token for an unknown user needs --force', async () => {
  const shell = await terminalWithUsers();
  expect(await shell.run('token issue --user new-one')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('add --force'),
  });
  const { code, stdout } = await shell.run('token issue --user new-one --force');
  expect(code).toBe(0);
  expect(await verify(shell, stdout.trim())).toMatchObject({ token: { userId: 'new-one' } });
});

test('on a terminal, standard error shows the expiry, how to revoke it, and why polls will fail', async () => {
  const { run } = await terminalWithUsers();
  const { stdout, stderr } = await run('token issue --user starter', { isTTY: true });
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(`a token of user starter. It expires at ${toIso(ISSUED_AT + 90 * DAY_MS)}.`);
  expect(stderr).toContain('leadtap user set starter --plan PROFESSIONAL');
  expect(stderr).toMatch(/leadtap token revoke [0-9a-f-]{36}\n$/);
  const unknown = await run('token issue --user new-one --force', { isTTY: true });
  expect(unknown.stderr).toContain('User new-one does not exist');
});

test.each([
  ['token issue', 'give either --user ID or --all-users'],
  ['token issue --user boss --all-users --json', 'give either --user ID or --all-users'],
  ['token issue --all-users', '--all-users needs --json'],
  ['token issue --all-users --json --force', '--force works only with --user'],
  ['token issue --user boss --scope leads:delete', 'Write leads:read or leads:write'],
  [`token issue --user boss --name ${'x'.repeat(201)}`, '--name must have at most 200 characters, not 201'],
])('%s is refused', async (command, message) => {
  const { run } = await terminalWithUsers();
  expect(await run(command)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test.each(['59s', '0m', '11y', '90', '1.5d', '1w', '90D'])('--expires-in %s is refused', (text) =>
  expect(() => parseLifetime(text)).toThrow('Write 30m'),
);
