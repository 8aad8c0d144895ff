import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { afterEach, expect, it, vi } from 'vitest';
import configure from '../../../vitest.config.ts';
import { tempFolder } from '../harness/temp-folder.ts';
import { INSTALL_VARIABLE } from '../servers/debian.ts';
import { findProgram } from '../servers/find-program.ts';

afterEach(() => void vi.unstubAllEnvs());

const { scripts } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

const RUNS: readonly (readonly [name: string, command: string])[] = [
  ['npx vitest run FOLDER', 'vitest run FOLDER'],
  ...Object.entries<string>(scripts).filter(([, command]) => / vitest/.test(command)),
];

it.each(
  RUNS.flatMap(([name, command]) => [undefined, 'on', 'never'].map((value) => ({ name, command, value }))),
)(`$name with ${INSTALL_VARIABLE}=$value`, ({ name, command, value }) => {
  const folder = tempFolder();
  // All calls of apt-get wait for one lock.
  const calls = join(folder, 'calls');
  writeFileSync(join(folder, 'flock'), `#!/bin/sh\necho "$*" >> '${calls}'\n`);
  chmodSync(join(folder, 'flock'), 0o755);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
  vi.stubEnv(INSTALL_VARIABLE, value);
  configure({ mode: / --mode (\w+)/.exec(command)?.[1] ?? 'test', command: 'serve' });
  const missing = { name: 'Nothing', debian: 'nothing', homebrew: 'nothing', find: () => undefined };
  expect(() => findProgram(missing)).toThrow(/^these tests need Nothing, which was not found\. Run: /);
  const canInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  const installs = value ? value === 'on' : ['test:all', 'test:nightly'].includes(name);
  expect(existsSync(calls)).toBe(installs && canInstall);
});
