import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { terminal } from '../../cli/terminal.ts';

const ANY_PORT = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };

test('a file that is not a database, and a path that cannot be one, are reported with the path', async () => {
  const { run, save, path } = terminal();
  save('letter.txt', 'Dear reader, this is a letter and not a database. '.repeat(50));
  const letter = await run('migrate', { env: { LEADTAP_DATABASE_URL: 'sqlite:letter.txt' } });
  expect(letter.code).toBe(1);
  expect(letter.stderr).toContain(`the file is not an SQLite database (${path('letter.txt')})`);
  const below = await run('user list', { env: { LEADTAP_DATABASE_URL: 'sqlite:letter.txt/leadtap.db' } });
  expect(below).toMatchObject({ code: 1, stderr: expect.stringContaining(path('letter.txt/leadtap.db')) });
  const made = await run('migrate', { env: { LEADTAP_DATABASE_URL: 'sqlite:letter.txt/leadtap.db' } });
  expect(made.stderr).toMatch(
    /^leadtap: the database file cannot be opened \(.*leadtap\.db, (EEXIST|ENOTDIR)\)\n/,
  );
  expect(made.stderr).toContain('Correct the path in LEADTAP_DATABASE_URL.');
  expect(existsSync(path('data'))).toBe(false);
});

test('doctor reports a file that is not a database', async () => {
  const { run, save } = terminal();
  save('data/leadtap.db', 'this is not a database '.repeat(100));
  const { code, stdout } = await run('doctor', { env: ANY_PORT });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ database: .*not an SQLite database/m);
});

test('doctor and the commands report an empty file in the same words', async () => {
  const { run, save, path } = terminal({ empty: true });
  save('data/leadtap.db', '');
  const words = `there is no Leadtap database at ${path('data/leadtap.db')}`;
  expect((await run('user list')).stderr).toContain(words);
  expect((await run('doctor', { env: ANY_PORT })).stdout).toContain(`! database: ${words}\n`);
});
