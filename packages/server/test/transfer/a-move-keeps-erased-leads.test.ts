import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { openPostgresStore } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));

test('a lead that was erased before the move is rejected after it', async () => {
  const endpoints = await makeFilledEndpoints();
  // In a process of its own, so that the file is closed.
  execFileSync(process.execPath, [PROGRAM, 'leads', 'erase', 'lead-2', '--company', 'acme', '--yes'], {
    cwd: endpoints.folder,
    env: { ...process.env, LEADTAP_DATABASE_URL: endpoints.from },
    stdio: 'pipe',
  });
  expect(await runMove(endpoints)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('erased leads 1,'),
  });
  const store = await openPostgresStore({ url: endpoints.to, connections: 1 });
  onTestFinished(() => store.close());
  const again = (companyId: string) => store.writeLeads([{ companyId, id: 'lead-2', fields: {} }]);
  expect(await again('acme')).toMatchObject({
    results: [{ kind: 'rejected', problem: { reason: 'erased', value: 'lead-2' } }],
  });
  expect(await again('globex')).toMatchObject({ results: [{ kind: 'updated' }] });
});
