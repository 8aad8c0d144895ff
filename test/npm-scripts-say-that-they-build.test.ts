/** The scripts of package.json, with stubs for the programs that take long. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';

const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
const { scripts }: { scripts: Record<string, string> } = JSON.parse(manifest);
const building = Object.keys(scripts).filter((name) => scripts[name]?.includes('run --silent build'));

test('npm run build says at once that it builds', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, scripts }));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  // Standard error, so that the order of all lines is kept.
  for (const program of ['tsc', 'vite'])
    writeFileSync(join(folder, 'node_modules/.bin', program), `#!/bin/sh\necho "${program} runs" >&2\n`, {
      mode: 0o755,
    });
  const { stdout, stderr } = await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: folder });
  // Standard output belongs to the program: `npm start` logs JSON there.
  expect(stdout).toBe('');
  expect(stderr.replace(/^npm warn .*\n/gm, '')).toMatch(
    /^Building\b.* half a minute.*\ntsc runs\nvite runs\n$/,
  );
});

test('the scripts that people wait for build', () => {
  expect(building).toEqual(expect.arrayContaining(['start', 'demo', 'test', 'check']));
});

test.each(building)('npm run %s does nothing before it builds', (name) => {
  expect(scripts[name]).toMatch(/^npm run --silent build && /);
});
