import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { terminal } from '../../cli/terminal.ts';

const BIN = fileURLToPath(new URL('../../../bin/leadtap.js', import.meta.url));
const execute = promisify(execFile);
const LEADS = 20_000;
/** The leads take more than this, and so does their log. */
const MAX_FILE_KIB = 3000;

test('an import that cannot write to the disk tells the operator to check it', async () => {
  const { cwd, save } = terminal({ empty: true });
  save('organisation.json', ORGANISATION);
  const lead = JSON.stringify({
    companyId: 'acme',
    firstName: 'A'.repeat(100),
    createdAt: '2020-01-01T00:00:00Z',
  });
  save('leads.ndjson', `${lead}\n`.repeat(LEADS));
  const env = { PATH: process.env['PATH'] ?? '' };
  await execute(process.execPath, [BIN, 'org', 'apply', 'organisation.json'], { cwd, env });
  // No file may grow beyond the limit, as if the disk were full.
  const limited = [
    '-c',
    `ulimit -f ${MAX_FILE_KIB}; exec "$0" "$@"`,
    process.execPath,
    BIN,
    'leads',
    'import',
  ];
  const run = execute('bash', [...limited, '--historical', 'leads.ndjson'], { cwd, env });
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Check the disk of ${join(cwd, 'data')}: its free space`),
  });
});
