/** What the timer and cron start, as they start it: without a terminal, without HOME, with the shortest PATH. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../packages/testing/harness/temp-folder.ts';
import { findOnPath } from '../../packages/testing/servers/find-program.ts';
import { ROOT } from './support/dockerfile.ts';
import { readText } from './support/manifests.ts';

const UNIT = readText('deploy/systemd/leadtap-backup.service');
const DOCS = readText('docs/operations.md');
const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(UNIT)?.[1] ?? '';

/** The time of day is not tested. */
const cronLine = /^```crontab\n[\d* ]+ (.*)\n```$/m.exec(DOCS)?.[1] ?? '';

test.each([
  {
    name: 'the timer',
    command: `cd ${settingOf('WorkingDirectory')} && ${settingOf('ExecStart')}`,
    prints: true,
  },
  { name: 'cron', command: cronLine, prints: false },
])('$name makes a backup', ({ command, prints }) => {
  const folder = tempFolder();
  const bin = join(ROOT, 'packages/server/bin/leadtap.js');
  const run = (line: string) =>
    execFileSync('/bin/sh', ['-c', line], {
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  run(`cd '${folder}' && '${process.execPath}' '${bin}' migrate >/dev/null`);
  const output = run(
    command
      .replaceAll('/var/lib/leadtap', folder)
      .replaceAll('/opt/leadtap', ROOT.replace(/\/$/, ''))
      .replaceAll('/usr/bin/node', process.execPath),
  );
  expect(readdirSync(join(folder, 'backups'))).toEqual([expect.stringMatching(/^leadtap-.*Z\.db$/)]);
  expect(output !== '').toBe(prints);
});

test('the timer starts the service of its name, also after the machine was off', () => {
  const timer = readText('deploy/systemd/leadtap-backup.timer');
  expect(timer).toMatch(/^Persistent=true$/m);
  expect(timer).toMatch(/^WantedBy=timers\.target$/m);
  expect(timer).not.toMatch(/^Unit=/m);
});

const analyze = findOnPath('systemd-analyze');

test.runIf(analyze)('systemd understands when the timer runs', () => {
  const [, when = ''] = /^OnCalendar=(.*)$/m.exec(readText('deploy/systemd/leadtap-backup.timer')) ?? [];
  const text = execFileSync(analyze ?? '', ['calendar', when], {
    encoding: 'utf8',
  });
  expect(text).toContain('*-*-* 03:00:00');
});
