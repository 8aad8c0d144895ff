import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findOnPath } from '../../packages/testing/servers/find-program.ts';
import { ROOT } from './support/dockerfile.ts';
import { readText } from './support/manifests.ts';

const UNITS = ['leadtap', 'leadtap-backup'];
const fileOf = (unit: string) => `deploy/systemd/${unit}.service`;

/** Of 10. Versions of systemd rate a little differently. */
const MAX_EXPOSURE = 2;

test.each(UNITS)('%s has no privilege, and writes to the folder of the service only', (unit) => {
  const lines = readText(fileOf(unit)).split('\n');
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

describe.runIf(analyze)('systemd-analyze', () => {
  test.each(UNITS)('rates the exposure of %s as low', (unit) => {
    const args = ['security', '--offline=true', '--no-pager', join(ROOT, fileOf(unit))];
    const text = execFileSync(analyze ?? '', args, { encoding: 'utf8' });
    const [, exposure] = /Overall exposure level for \S+\.service: ([\d.]+)/.exec(text) ?? [];
    expect(Number(exposure)).toBeGreaterThan(0);
    expect(Number(exposure)).toBeLessThanOrEqual(MAX_EXPOSURE);
  });
});
