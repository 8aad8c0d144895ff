/** Where the programs are that many tests need. No client of them is loaded: vitest.config.ts reads this file. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath, isExecutable, type Program } from './find-program.ts';

export const REDIS: Program = {
  name: 'Redis or Valkey',
  debian: 'redis-server',
  homebrew: 'redis',
  variable: 'TEST_REDIS_URL',
  find: () => findOnPath('redis-server', 'valkey-server'),
};

const DEBIAN_FOLDER = '/usr/lib/postgresql';

export const POSTGRES: Program = {
  name: 'PostgreSQL',
  debian: 'postgresql',
  homebrew: 'postgresql',
  variable: 'TEST_POSTGRES_URL',
  find: () =>
    postgresCandidates().find((file) => isExecutable(file) && isExecutable(join(file, '..', 'initdb'))),
};

/** On the PATH, where `pg_config` says, and where Debian has them, the newest first. */
function postgresCandidates(): string[] {
  const onPath = findOnPath('initdb');
  const config = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const debian = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : [];
  const folders = [
    ...(onPath === undefined ? [] : [join(onPath, '..')]),
    ...(config ? [config] : []),
    ...debian.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN_FOLDER, version, 'bin')),
  ];
  return folders.map((folder) => join(folder, 'postgres'));
}

const CHROMIUM_ON_A_MAC = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export const CHROMIUM: Program = {
  name: 'Chromium or Google Chrome',
  debian: 'chromium-headless-shell',
  homebrew: '--cask chromium',
  // The headless shell has no windows and tabs of its own, and takes half the time. Ubuntu's chromium-browser may be a stub that only asks for a snap, so it comes last.
  find: () =>
    findOnPath(
      'chromium-headless-shell',
      'chromium',
      'google-chrome',
      'google-chrome-stable',
      'chromium-browser',
    ) ?? CHROMIUM_ON_A_MAC.find(existsSync),
};
