import { expect, test } from 'vitest';
import { startService } from '../../../../testing/harness/service.ts';
import { terminalWithUsers } from '../../cli/terminal.ts';
import { readPage, readStatus } from '../../status/support/status.ts';

test('backup is refused, and names pg_dump', async () => {
  const { run } = await terminalWithUsers();
  expect(await run('backup copy.dump')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringContaining('Use pg_dump: pg_dump --format=custom'),
  });
});

test('the status page does not know the last backup', async () => {
  const service = await startService();
  expect((await readStatus(service)).backup).toBeNull();
  expect(await readPage(service)).toContain('not known here; PostgreSQL has its own');
});
