import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { terminal } from '../../cli/terminal.ts';

const BIN = fileURLToPath(new URL('../../../bin/leadtap.js', import.meta.url));
const execute = promisify(execFile);
/** Enough that they are written in a thread of their own, where an error loses its class and its cause. */
const LEADS = 20_000;

test('also when the leads are written in a thread', async () => {
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
  // In KiB: no file may grow beyond it, as if the disk ended there.
  const limited = ['-c', 'ulimit -f 6000; exec "$0" "$@"', process.execPath, BIN, 'leads', 'import'];
  const run = execute('bash', [...limited, '--historical', 'leads.ndjson'], { cwd, env });
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Check the disk of ${join(cwd, 'data')}: its free space`),
  });
});
