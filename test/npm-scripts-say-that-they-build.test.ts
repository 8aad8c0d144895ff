/** The scripts of package.json, with stubs for the programs that take long. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';

const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
const { scripts }: { scripts: Record<string, string> } = JSON.parse(manifest);
const building = Object.keys(scripts).filter((name) => scripts[name]?.includes('run --silent build'));

test.each(['build', ...building])('npm run %s says at once that it builds', async (name) => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, scripts }));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  for (const program of ['tsc', 'vite', 'vitest', 'biome', 'leadtap']) {
    const file = join(folder, 'node_modules/.bin', program);
    // Standard error, so that the order of all lines is kept.
    writeFileSync(file, `#!/bin/sh\necho "${program} runs" >&2\n`);
    chmodSync(file, 0o755);
  }
  // A script whose own program is not here fails after the build.
  const { stdout, stderr }: { stdout: string; stderr: string } = await promisify(execFile)(
    'npm',
    ['run', '--silent', name],
    { cwd: folder },
  ).catch((error) => error);
  // Standard output belongs to the program: `npm start` logs JSON there.
  expect(stdout).toBe('');
  expect(stderr.replace(/^npm warn .*\n/gm, '')).toMatch(/^Building\b.* half a minute.*\ntsc runs\n/);
});
