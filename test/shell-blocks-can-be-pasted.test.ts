/** What the documents tell people to type, typed as people do: pasted into a shell. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findOnPath, findProgram } from '../packages/testing/servers/find-program.ts';
import { freePort } from '../packages/testing/servers/free-port.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');
const blocksOf = (page: string): string[] =>
  [...read(page).matchAll(/^ *```(?:sh|bash|shell)\n([\s\S]*?)^ *```/gm)].map(([, block = '']) => block);

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'packages/server/README.md',
  'packages/client/README.md',
  'test/acceptance/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

const QUOTED = /'[^']*'|"[^"]*"/g;

/** An interactive zsh takes `#` for a word, and looks for files that match a bare `?`, `*` or `[`. */
test.each(PAGES)('%s: no line of a shell block means something else to zsh', (page) => {
  const lines = blocksOf(page).flatMap((block) => block.split('\n'));
  expect(lines.filter((line) => /(^|\s)#/.test(line))).toEqual([]);
  expect(lines.filter((line) => /[?*[!]/.test(line.replace(QUOTED, '')))).toEqual([]);
});

/** A folder like a fresh copy after `npm ci`. Its build is that of the tests, so `npm run build` has nothing to do. */
function freshCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-first-steps-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const manifest = JSON.parse(read('package.json'));
  const scripts = { ...manifest.scripts, build: 'node --eval 0' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', scripts }));
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
  for (const name of ['node_modules', 'packages']) symlinkSync(join(ROOT, name), join(folder, name));
  return folder;
}

/** A process whose words can be waited for, with all processes that it starts. */
function start(command: string, argv: readonly string[], cwd: string, env: Record<string, string>) {
  const child = spawn(command, argv, { cwd, env: { ...process.env, ...env }, detached: true });
  const closed = once(child, 'close');
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // All of them have ended.
    }
  };
  onTestFinished(() => signal('SIGKILL'));
  let output = '';
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
      for (const check of waiting) check();
    });
  const says = (words: string) =>
    new Promise<void>((resolve, reject) => {
      const check = () => output.includes(words) && resolve();
      waiting.add(check);
      check();
      closed.then(() => reject(new Error(`it ended without saying ${words}:\n${output}`)));
    });
  return { child, closed, signal, says, output: () => output };
}

const SHELLS = [
  { name: 'bash', argv: ['--norc', '--noprofile', '-i'] },
  { name: 'zsh', argv: ['-f', '-i'] },
];

describe.each(SHELLS)('README.md, "Run it", in an interactive $name', ({ name, argv }) => {
  test('serves the examples, and a token polls them', { timeout: 600_000 }, async () => {
    const [, run = ''] = read('README.md').split('## Run it');
    const [serve = '', poll = ''] = [...run.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
      ([, block = '']) => block,
    );
    const folder = freshCopy();
    const port = String(await freePort());
    const env = { LEADTAP_PORT: port, LEADTAP_METRICS_ADDRESS: 'off' };

    const shell = findProgram({ name, debian: name, homebrew: name, find: () => findOnPath(name) });
    const first = start(shell, argv, folder, env);
    first.child.stdin.write(serve);
    await first.says('"msg":"serving new leads"');
    expect(first.output()).toMatch(/\d added, 0 updated, 0 rejected/);

    const second = start(shell, argv, folder, env);
    second.child.stdin.end(poll.replace(':3000', `:${port}`));
    await second.closed;
    expect(second.output()).toContain('"companyName":"Soleil Roofing"');
    for (const output of [first.output(), second.output()])
      expect(output).not.toMatch(/not found|no matches|parse error|syntax error|bad pattern|leadtap: /);

    first.signal('SIGINT');
    await first.says('"msg":"stopped"');
    first.child.stdin.end();
    await first.closed;
  });
});

test('kill ends the service that npm start has started', { timeout: 600_000 }, async () => {
  const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
  const npm = start('npm', ['start'], freshCopy(), env);
  await npm.says('"msg":"serving new leads"');
  // npm alone, as `kill %1` does, and not its children.
  npm.child.kill('SIGTERM');
  await npm.says('"msg":"stopped"');
  await npm.closed;
});
