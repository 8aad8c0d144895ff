import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));
const execute = promisify(execFile);

test('when the disk has no room for the key, no temporary file is left', async () => {
  const cwd = tempFolder();
  // A limit of the file size does what a full disk does: the file is made, but nothing can be written to it.
  const limited = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, BIN, 'serve'];
  const env = { PATH: process.env['PATH'] ?? '' };
  await expect(execute('bash', limited, { cwd, env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the signing key file cannot be made'),
  });
  expect(readdirSync(join(cwd, 'data'))).toEqual([]);
});
