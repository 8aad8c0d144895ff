import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findOnPath } from '../../packages/testing/servers/find-program.ts';
import { ROOT } from './support/dockerfile.ts';
import { readText } from './support/manifests.ts';

const UNIT = 'deploy/systemd/leadtap.service';

/** Of 10. Versions of systemd rate a little differently. */
const MAX_EXPOSURE = 2;

test('the service has no privilege, and writes to its own folder only', () => {
  const lines = readText(UNIT).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      ...['User=leadtap', 'CapabilityBoundingSet=', 'NoNewPrivileges=yes', 'ProtectSystem=strict'],
      ...['StateDirectory=leadtap', 'StateDirectoryMode=0700', 'UMask=0077', 'ProtectHome=yes'],
    ]),
  );
  expect(
    lines.filter((line) => /^(ReadWritePaths|AmbientCapabilities|PermissionsStartOnly)=/.test(line)),
  ).toEqual([]);
});

const analyze = findOnPath('systemd-analyze');

test.runIf(analyze)('systemd-analyze rates its exposure as low', () => {
  const args = ['security', '--offline=true', '--no-pager', join(ROOT, UNIT)];
  const text = execFileSync(analyze ?? '', args, { encoding: 'utf8' });
  const [, exposure] = /Overall exposure level for leadtap\.service: ([\d.]+)/.exec(text) ?? [];
  expect(Number(exposure)).toBeGreaterThan(0);
  expect(Number(exposure)).toBeLessThanOrEqual(MAX_EXPOSURE);
});
