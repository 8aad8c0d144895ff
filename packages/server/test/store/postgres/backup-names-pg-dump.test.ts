import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startService } from '../../../../testing/harness/service.ts';
import { findOnPath } from '../../../../testing/servers/find-program.ts';
import { terminalWithUsers } from '../../cli/terminal.ts';
import { readStatus, readSystem } from '../../status/support/status.ts';

const PG_DUMP = findOnPath('pg_dump');

test.skipIf(PG_DUMP === undefined)('backup is refused, and names a pg_dump command that works', async () => {
  const { run, path, database } = await terminalWithUsers();
  const { code, stdout, stderr } = await run('backup copy.dump');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const [, flags = ''] = /Run pg_dump (.* DATABASE_URL), with/.exec(stderr) ?? [];
  const { url } = await database();
  const words = flags.replace('FILE', path('copy.dump')).replace('DATABASE_URL', url).split(' ');
  expect(spawnSync(PG_DUMP ?? '', words, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  expect(statSync(path('copy.dump')).size).toBeGreaterThan(1000);
});

test('the status page does not know the last backup', async () => {
  const service = await startService();
  expect((await readStatus(service)).backup).toBeNull();
  expect((await readSystem(service))['Last backup']).toBe('not known here; PostgreSQL has its own');
});
