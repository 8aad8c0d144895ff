import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

test('a line that violates a constraint of the operator is rejected, and all others are imported', async () => {
  const shell = await terminalWithUsers();
  await (await shell.database()).addCheck('has_mail', "email <> 'x@test.com' AND first_name <> 'Test'");
  const bad = new Set([4, 70, 99]);
  const leads = Array.from({ length: 100 }, (_, n) =>
    JSON.stringify({ companyId: 'acme', id: `${n}`, email: bad.has(n) ? 'x@test.com' : 'ada@example.com' }),
  );
  shell.save('leads.ndjson', leads.join('\n'));
  const { stdout, stderr } = await shell.run('leads import leads.ndjson');
  expect(stdout).toBe('97 added, 0 updated, 3 rejected\n');
  const detail = 'violates the constraint "has_mail", which the operator has added to the database';
  expect(stderr).toBe([...bad].map((n) => `line ${n + 1}: ${detail}\n`).join(''));
  expect((await shell.run('leads send-test --company acme')).stderr).toContain(detail);
});
