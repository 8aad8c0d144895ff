import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import process from 'node:process';

/** What Debian asks before a package starts its service; 101 is no. */
const POLICY = '/usr/sbin/policy-rc.d';

/** `on` for `npm run test:all` and `test:nightly`, unless it is set: no other run changes the machine. */
export const INSTALL_VARIABLE = 'TEST_INSTALL';

/** Installs a package where that can be done without asking, and says so. False: it cannot be had this way. */
export function installPackage(name: string): boolean {
  if (process.env[INSTALL_VARIABLE] !== 'on') return false;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  process.stderr.write(`The tests install Debian's package ${name}, because it is missing or too old.\n`);
  return withoutStartingServices(() => {
    // The list of an image is as old as the image. Offline it may still be right.
    aptGet('update');
    return aptGet('install', '--yes', '--no-install-recommends', name);
  });
}

function aptGet(...argv: readonly string[]): boolean {
  // Two test files may come here at the same time, and apt lets only one in.
  const command = ['/var/cache/apt', 'apt-get', '--quiet', '-o', 'DPkg::Lock::Timeout=300', ...argv];
  const { status, stderr } = spawnSync('flock', command, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(stderr);
  return status === 0;
}

/** The tests start servers of their own; those of the packages would only be in the way. */
function withoutStartingServices<T>(work: () => T): T {
  if (existsSync(POLICY)) return work();
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    return work();
  } finally {
    rmSync(POLICY, { force: true });
  }
}
