import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startService } from '../../../../testing/harness/service.ts';
import { pgDumpCommand } from '../../../src/store/postgres/dump-command.ts';
import { terminalWithUsers } from '../../cli/terminal.ts';
import { readPage, readStatus } from '../../status/support/status.ts';

test('backup is 1 and prints a pg_dump line that works as it is', async () => {
  const { run, path } = await terminalWithUsers();
  const { code, stdout, stderr } = await run('backup copy.dump');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const [, line = ''] = /^ {2}Run: (pg_dump .+)$/m.exec(stderr) ?? [];
  const dumped = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
  expect(dumped).toMatchObject({ status: 0, stderr: '' });
  expect(statSync(path('copy.dump')).size).toBeGreaterThan(1000);
});

test.each([
  ['postgres://app:s3cr3t@db.example:5433/leads', 'postgres://app@db.example:5433/leads'],
  [
    'postgres://app:s3cr3t@db/leads?sslmode=verify-ca&sslrootcert=/ca.pem&uselibpqcompat=true',
    `'postgres://app@db/leads?sslmode=verify-ca&sslrootcert=%2Fca.pem'`,
  ],
  ['postgres:///leads?host=/var/run/postgresql', `'postgres:///leads?host=%2Fvar%2Frun%2Fpostgresql'`],
])('%s: the line has no password and only parameters of libpq', (url, expected) => {
  const line = pgDumpCommand(url, `/backups/it's.dump`);
  expect(line).toBe(
    `pg_dump --format=custom --schema=leadtap --file='/backups/it'\\''s.dump' ${expected.replaceAll('%2F', '%2F')}`,
  );
  expect(line).not.toContain('s3cr3t');
});

test('the status page does not know the last backup, and names the command', async () => {
  const service = await startService();
  expect((await readStatus(service)).backup).toBeNull();
  expect(await readPage(service)).toContain('<code>leadtap backup FILE</code> prints the pg_dump line');
});
