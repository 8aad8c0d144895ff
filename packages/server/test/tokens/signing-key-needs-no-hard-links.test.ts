import fs, { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { loadSigningKeys } from '../../src/accounts/signing-keys.ts';

/** Makes this process one on a file system without links, such as USB sticks have. */
function refuseLinks(code: string, before = () => {}): void {
  const spy = vi.spyOn(fs, 'linkSync').mockImplementation(() => {
    before();
    throw Object.assign(new Error('link'), { code });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

test.each(['EPERM', 'ENOTSUP', 'ENOSYS'])(
  'where links are %s, the key is made all the same',
  async (code) => {
    refuseLinks(code);
    const file = join(tempFolder(), 'signing.key');
    const [made] = await loadSigningKeys({ file });
    expect(made.secret).toHaveLength(32);
    expect((await loadSigningKeys({ file }))[0].id).toBe(made.id);
    expect(readdirSync(join(file, '..'))).toEqual(['signing.key']);
    if (process.platform !== 'win32') expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  },
);

test('a key that another command creates at the same moment is not overwritten', async () => {
  const file = join(tempFolder(), 'signing.key');
  const theirs = Buffer.alloc(32, 7).toString('base64url');
  refuseLinks('EPERM', () => writeFileSync(file, theirs));
  const [key] = await loadSigningKeys({ file });
  expect(Buffer.from(key.secret).toString('base64url')).toBe(theirs);
  expect(readFileSync(file, 'utf8')).toBe(theirs);
});

test('any other error is reported', async () => {
  refuseLinks('EACCES');
  const folder = tempFolder();
  await expect(loadSigningKeys({ file: join(folder, 'signing.key') })).rejects.toMatchObject({
    name: 'SigningKeyError',
    cause: { code: 'EACCES' },
  });
  expect(readdirSync(folder)).toEqual([]);
});
