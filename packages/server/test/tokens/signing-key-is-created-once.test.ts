import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { loadSigningKeys } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { runLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { keyFileOf, startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { loadKeysConcurrently } from './support/load-keys-concurrently.ts';
import { outcome, pollWith } from './support/polling.ts';

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe('the signing key', () => {
  it('is created at the first start, readable for its owner only, and used at the next start', async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const first = await startService();
    const file = keyFileOf(first);
    expect(modeOf(file)).toBe('600');
    expect(Buffer.from(readFileSync(file, 'utf8'), 'base64url')).toHaveLength(32);
    const token = await first.token('boss');
    await first.stop();
    const again = await startService({ beside: first });
    expect(await outcome(await pollWith(again.url, token))).toBe('200');
  });

  it('is the same for processes that start at the same time', async () => {
    const folder = tempFolder();
    const database = await makeTestDatabase(onTestFinished, { folder: join(folder, 'data') });
    writeFileSync(join(folder, 'organisation.json'), JSON.stringify(ORGANISATION));
    const run = (...command: string[]) => runLeadtap(command, database.env, folder);
    const setUp = async () => {
      const applied = await run('org', 'apply', 'organisation.json');
      const issued = await run('token', 'issue', '--user', 'boss');
      return { stdout: issued.stdout, stderr: applied.stderr + issued.stderr };
    };
    const issued = await Promise.all([setUp(), setUp(), setUp(), setUp()]);
    expect(issued.map(({ stderr }) => stderr)).toEqual(['', '', '', '']);
    expect(readdirSync(join(folder, 'data')).filter((file) => file.includes('key'))).toEqual(['signing.key']);
    const { url } = await startService({ beside: { folder, database } });
    for (const { stdout } of issued) expect(await outcome(await pollWith(url, stdout.trim()))).toBe('200');
  });

  it('is the same for threads that create it at the same moment', async () => {
    const folder = tempFolder();
    const files = Array.from({ length: 20 }, (_, round) => join(folder, `${round}.key`));
    const idsOfEach = await loadKeysConcurrently(files, 3);
    expect(new Set(idsOfEach.map((ids) => ids.join())).size).toBe(1);
    expect(readdirSync(folder)).toHaveLength(files.length);
  });

  it('does not replace a key file that cannot be used', async () => {
    const folder = tempFolder();
    for (const [name, content] of Object.entries({
      empty: '',
      short: 'c2hvcnQ=',
      text: 'not a key at all!',
    })) {
      const file = join(folder, name);
      writeFileSync(file, content);
      await expect(loadSigningKeys({ file })).rejects.toMatchObject({ name: 'SigningKeyError' });
      expect(readFileSync(file, 'utf8')).toBe(content);
    }
  });

  it('leaves no file behind where it cannot be created', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'file'), '');
    await expect(loadSigningKeys({ file: join(folder, 'file/signing.key') })).rejects.toMatchObject({
      name: 'SigningKeyError',
    });
    // A link cannot be made over a folder, and a folder cannot be read as a key.
    mkdirSync(join(folder, 'signing.key'));
    chmodSync(join(folder, 'signing.key'), 0o700);
    await expect(loadSigningKeys({ file: join(folder, 'signing.key') })).rejects.toMatchObject({
      name: 'SigningKeyError',
    });
    expect(readdirSync(folder).sort()).toEqual(['file', 'signing.key']);
    expect(existsSync(join(folder, 'file/signing.key'))).toBe(false);
  });
});
