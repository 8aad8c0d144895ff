import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { issueToken, loadSigningKeys } from 'leadtap';
import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { outcome, pollWith } from './support/polling.ts';

const secret = () => randomBytes(32).toString('base64');

const tokenOf = async (...secrets: string[]) => {
  const now = Date.now();
  const grant = { userId: 'boss', tokenId: 'a', issuedAt: now, expiresAt: now + 60_000 };
  return issueToken(await loadSigningKeys({ secrets }), grant);
};

it('with two secrets the first signs and both verify', async () => {
  const [next, old, foreign] = [secret(), secret(), secret()];
  const { url, token } = await startService({ env: { LEADTAP_SIGNING_KEY: `${next} ${old}` } });
  expect(await outcome(await pollWith(url, await tokenOf(old)))).toBe('200');
  expect(await outcome(await pollWith(url, await tokenOf(next)))).toBe('200');
  expect(await outcome(await pollWith(url, await tokenOf(foreign)))).toBe('401 token-invalid');
  const kidOf = (text: string) => decodeProtectedHeader(text).kid;
  expect(kidOf(await token('boss'))).toBe(kidOf(await tokenOf(next)));
});

it('when the old secret is removed its tokens are rejected', async () => {
  const [next, old] = [secret(), secret()];
  const { url } = await startService({ env: { LEADTAP_SIGNING_KEY: next } });
  expect(await outcome(await pollWith(url, await tokenOf(old)))).toBe('401 token-invalid');
});

it('the key file holds several secrets, one a line, the new one in front', async () => {
  const file = join(tempFolder(), 'signing.key');
  const old = await startService({ env: { LEADTAP_SIGNING_KEY_FILE: file } });
  const token = await old.token('boss');
  const next = secret();
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, `${next}\n`);
  appendFileSync(file, before);
  const { url, service } = await startService({ env: { LEADTAP_SIGNING_KEY_FILE: file } });
  expect(service.keys[0].secret).toEqual(Buffer.from(next, 'base64'));
  expect(await outcome(await pollWith(url, token))).toBe('200');
});
