import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { manualClock } from '../../../../testing/harness/manual-clock.ts';
import { startService } from '../../../../testing/harness/service.ts';
import { terminal } from '../../cli/terminal.ts';
import { readStatus, readSystem } from '../../status/support/status.ts';

async function start() {
  const clock = manualClock();
  const service = await startService({ clock });
  const shell = terminal();
  const run = (command: string) =>
    shell.run(command, { env: service.database.env, parts: { clock, cwd: service.folder } });
  const record = `${service.database.url.replace(/^sqlite:/, '')}.last-backup`;
  return { clock, service, run, record };
}

it('the last backup is that of `leadtap backup`; none is a hint and no problem', async () => {
  const { clock, service, run, record } = await start();
  expect(await readStatus(service)).toMatchObject({ backup: { lastAt: null }, problems: [] });
  expect((await readSystem(service))['Last backup']).toBe('none known; `leadtap backup FILE` makes one');
  expect((await run('backup first.db')).code).toBe(0);
  clock.advance(3 * 3_600_000);
  expect((await readStatus(service)).backup).toEqual({ lastAt: '2026-03-02T09:30:00.000Z' });
  expect((await readSystem(service))['Last backup']).toBe('3 h ago');
  expect((await run('backup second.db')).code).toBe(0);
  expect((await readStatus(service)).backup).toEqual({ lastAt: '2026-03-02T12:30:00.000Z' });
  // One that fails is none.
  clock.advance(60_000);
  expect((await run('backup second.db')).code).not.toBe(0);
  expect((await readStatus(service)).backup).toEqual({ lastAt: '2026-03-02T12:30:00.000Z' });
  expect(existsSync(record)).toBe(true);
  writeFileSync(record, 'nonsense');
  expect((await readStatus(service)).backup).toEqual({ lastAt: null });
});

it('a backup that cannot be recorded succeeds, and says so', async () => {
  const { run, record } = await start();
  // A folder in the place of the draft.
  mkdirSync(`${record}.draft`);
  const { code, stderr } = await run('backup copy.db');
  expect(code).toBe(0);
  expect(stderr).toContain('The status page will not show this backup: ');
});
