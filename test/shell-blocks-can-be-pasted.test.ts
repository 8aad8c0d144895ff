// @nightly and after a change of *README.md CONTRIBUTING.md docs/ examples/ deploy/ package.json packages/server/bin/ packages/server/src/cli/
/** What the documents tell people to type, typed as people do: pasted into a shell. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Receiver, startReceiver } from '../packages/testing/integrations/hook-receiver.ts';
import { findOnPath, findProgram } from '../packages/testing/servers/find-program.ts';
import { freePort } from '../packages/testing/servers/free-port.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');
/** A block that begins with `#!` is a file to save, not to paste. */
const blocksOf = (page: string): string[] =>
  [...read(page).matchAll(/^ *```(?:sh|bash|shell)\n([\s\S]*?)^ *```/gm)]
    .map(([, block = '']) => block)
    .filter((block) => !block.startsWith('#!'));

/** Every page of the repository that has a block to paste. */
const PAGES = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((page) => blocksOf(page).length > 0);

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

const ZSH = ['-f', '-i'];
const SHELLS = [
  { name: 'bash', argv: ['--norc', '--noprofile', '-i'] },
  { name: 'zsh', argv: ZSH },
];

const findShell = (name: string): string =>
  findProgram({ name, debian: name, homebrew: name, find: () => findOnPath(name) });

const SHELL_ERROR = /not found|no matches|parse error|syntax error|bad pattern|leadtap: /;

/** Nothing is sent to other machines. */
const HOOK_URL = /https:\/\/hooks\.zapier\.com\/\S+/g;

// The page is pasted into bash, too, below.
test('README.md, "Run it", in an interactive zsh, sends a lead to a URL, and a token polls it', async () => {
  const [, run = ''] = read('README.md').split('## Run it');
  const [serve = '', send = '', poll = ''] = [...run.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
    ([, block = '']) => block,
  );
  const folder = freshCopy();
  const port = String(await freePort());
  const receiver = await startReceiver();
  const env = { LEADTAP_PORT: port, LEADTAP_METRICS_ADDRESS: 'off', LEADTAP_HOOK_HOSTS: receiver.origin };

  const shell = findShell('zsh');
  const first = start(shell, ZSH, folder, env);
  first.child.stdin.write(serve);
  await first.says('"msg":"serving new leads"');

  const second = start(shell, ZSH, folder, env);
  second.child.stdin.end(`${send}${poll}`.replace(HOOK_URL, receiver.url).replace(':3000', `:${port}`));
  await second.closed;
  expect(second.output()).toContain('"companyName":"Soleil Roofing"');
  expect(second.output()).toContain(`http://127.0.0.1:${port}/#token=`);
  expect(JSON.parse((await receiver.event(1)).text)).toMatchObject({ companyName: 'Soleil Roofing' });
  for (const { output } of [first, second]) expect(output()).not.toMatch(SHELL_ERROR);

  first.signal('SIGINT');
  await first.says('"msg":"stopped"');
  first.child.stdin.end();
  await first.closed;
});

const FORM = { firstName: 'Ada', lastName: 'Moreau', email: 'ada@example.com' };

test.each(SHELLS)('docs/web-form-to-zapier.md, in $name, sends a filled-in form to a URL', async (shell) => {
  const [serve = '', connect = ''] = blocksOf('docs/web-form-to-zapier.md');
  const folder = freshCopy();
  const [port, formPort] = [String(await freePort()), String(await freePort())];
  const receiver = await startReceiver();
  const env = { LEADTAP_PORT: port, LEADTAP_METRICS_ADDRESS: 'off', LEADTAP_HOOK_HOSTS: receiver.origin };

  const first = start(findShell(shell.name), shell.argv, folder, env);
  first.child.stdin.write(serve);
  await first.says('"msg":"serving new leads"');
  const second = start(findShell(shell.name), shell.argv, folder, { ...env, PORT: formPort });
  second.child.stdin.write(connect.replace(HOOK_URL, receiver.url).replace(':3000', `:${port}`));

  const form = `http://127.0.0.1:${formPort}`;
  await vi.waitFor(() => fetch(form), { timeout: 60_000, interval: 100 });
  const answer = await fetch(form, { method: 'POST', body: new URLSearchParams(FORM) });
  expect(await answer.text()).toContain('Thank you');
  expect(JSON.parse((await receiver.event(1)).text)).toMatchObject(FORM);
  for (const { output } of [first, second]) expect(output()).not.toMatch(SHELL_ERROR);
});

test('kill ends the service that npm start has started', async () => {
  const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
  const npm = start('npm', ['start'], freshCopy(), env);
  await npm.says('"msg":"serving new leads"');
  // npm alone, as `kill %1` does, and not its children.
  npm.child.kill('SIGTERM');
  await npm.says('"msg":"stopped"');
  await npm.closed;
});

/** Why the blocks of a page are not executed below. */
const NOT_EXECUTED: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': 'runs these tests',
  'docs/getting-leads-in.md': 'executed by a test of the same name, and by packages/server/test/import',
  'docs/web-form-to-zapier.md': 'executed above, with the form handler',
  'docs/integrations/your-own-program.md':
    'executed by packages/client/test/documented-program-stores-leads.test.ts',
  'docs/postgresql.md': 'needs PostgreSQL; executed by packages/server/test/store/postgres and test/transfer',
};

/**
 * Runs Leadtap, unless the other shell has run it with the same words in this folder: the output is the same then.
 * What `doctor` finds depends on the machine (a port of another test is taken), so its exit code does not count.
 */
const RUN_ONCE = `answer="$ANSWERS/$(printf '%s\\n' "$@" | cksum)"
if ! test -e "$answer"; then
  '${process.execPath}' '${join(ROOT, 'packages/server/bin/leadtap.js')}' "$@" > "$answer.part" || test "$1" = doctor || exit
  mv "$answer.part" "$answer"
fi
exec cat "$answer"`;

/** Commands of other programs do nothing. Those that run Leadtap in a container run it here. */
const STUBS: Readonly<Record<string, string>> = {
  docker:
    'while test $# -gt 2; do test "$1 $2" = "leadtap leadtap" && shift 2 && exec npx leadtap "$@"; shift; done',
  npx: `test "$1" = leadtap || exit 0; shift\n${RUN_ONCE}`,
  ...Object.fromEntries(
    ['createdb', 'kubectl', 'npm', 'pd', 'psql', 'sqlite3', 'ssh', 'sudo', 'zapier-platform'].map((name) => [
      name,
      '',
    ]),
  ),
};

/** A folder of stubs, for the PATH. */
function makeStubs(folder: string): string {
  const bin = join(folder, 'stubs');
  mkdirSync(bin);
  for (const [name, script] of Object.entries(STUBS)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

/** The blocks of a page as this test pastes them: with a real address and token, and without programs that do not end. */
const pasted = (page: string, url: string, receiverUrl: string): string =>
  blocksOf(page)
    .join('\n')
    .replaceAll(/http:\/\/(127\.0\.0\.1:3000|localhost:8080)|<BASE_ADDRESS>/g, url)
    .replaceAll(HOOK_URL, receiverUrl)
    .replaceAll('<ACCESS_TOKEN>', '$(npx leadtap token issue --user ada)')
    .replaceAll(/(leadtap(?:\.js)?) (?:serve|demo)$/gm, '$1 --version')
    .replaceAll('cd /opt/leadtap', 'cd .')
    .replaceAll(/postgres:\/\/\S+@localhost:5432\/leadtap/g, 'sqlite:./other.db')
    // A person is asked.
    .replaceAll('leads erase', 'leads erase --dry-run');

describe('every block of a page, in its order, in one interactive shell', () => {
  let url = '';
  let env: Record<string, string> = {};
  let receiver: Receiver;

  beforeAll(async () => {
    const closing: (() => void)[] = [];
    receiver = await startReceiver((close) => closing.push(close));
    const folder = mkdtempSync(join(tmpdir(), 'leadtap-paste-'));
    const database = `sqlite:${join(folder, 'data/leadtap.db')}`;
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;
    env = {
      PATH: `${makeStubs(folder)}:${process.env['PATH']}`,
      LEADTAP_DATABASE_URL: database,
      ANSWERS: mkdtempSync(join(folder, 'answers-')),
      LEADTAP_HOOK_HOSTS: receiver.origin,
    };
    const run = (command: string) =>
      execFileSync('sh', ['-c', command], { cwd: ROOT, env: { ...process.env, ...env } });
    run('npx leadtap org apply examples/organisation.json && npx leadtap leads import examples/leads.csv');
    // The person of docs/privacy.md.
    run(`echo '{"companyId":"soleil","email":"ada@example.com"}' | npx leadtap leads import -`);
    const serving = { ...env, LEADTAP_PORT: port, LEADTAP_METRICS_ADDRESS: 'off' };
    const bin = join(ROOT, 'packages/server/bin/leadtap.js');
    const service = spawn(process.execPath, [bin, 'serve'], {
      cwd: folder,
      env: { ...process.env, ...serving },
    });
    const closed = once(service, 'close');
    await once(service.stdout, 'data');
    return async () => {
      service.kill('SIGKILL');
      await closed;
      for (const close of closing) close();
      rmSync(folder, { recursive: true, force: true });
    };
  });

  test.each(PAGES.filter((page) => !(page in NOT_EXECUTED)))('%s', async (page) => {
    const folder = freshCopy();
    for (const path of ['docs', 'deploy', 'integrations']) symlinkSync(join(ROOT, path), join(folder, path));
    const [, csv] = /^```csv\n([\s\S]*?)^```/m.exec(read(page)) ?? [];
    if (csv !== undefined) writeFileSync(join(folder, 'leads.csv'), csv);
    const ofThePage = { ...env, HOME: folder, ANSWERS: mkdtempSync(join(folder, 'answers-')) };
    for (const { name, argv } of SHELLS) {
      const { child, closed, output } = start(findShell(name), argv, folder, ofThePage);
      child.stdin.end(
        [
          "trap 'echo a command has failed: $?' ERR",
          'set -u',
          pasted(page, url, receiver.url),
          // Some programs print no line end.
          "printf '\\nall was pasted\\n'",
          '',
        ].join('\n'),
      );
      await closed;
      const printed = output();
      expect(printed, name).not.toMatch(
        /a command has failed: \d|not found|no matches|parse error|syntax error|bad pattern|unbound variable|parameter not set/,
      );
      expect(printed, name).toMatch(/^(?:\S+ )?all was pasted$/m);
    }
  });
});

/** In a copy of the repository, nothing else finds it. */
test('every block that runs Leadtap finds it', () => {
  const bare = PAGES.flatMap((page) => blocksOf(page).flatMap((block) => block.split('\n')));
  expect(bare.filter((line) => /^ *leadtap /.test(line))).toEqual([]);
});

test('every page that is not executed exists', () => {
  expect(Object.keys(NOT_EXECUTED).filter((page) => !PAGES.includes(page))).toEqual([]);
});

test('no two pages set a variable to different things', () => {
  const values = new Map<string, Set<string>>();
  for (const page of PAGES)
    for (const [, variable = '', value = ''] of blocksOf(page)
      .join('\n')
      .matchAll(/^ *(?:export )?([A-Z_]+)=("[^"]*"|\$\(.*\)|\S*)$/gm))
      values.set(
        variable,
        (values.get(variable) ?? new Set()).add(value.replace(/docker compose exec -T leadtap|npx/, '')),
      );
  const different = [...values]
    .filter(([, set]) => set.size > 1)
    .map(([variable, set]) => [variable, ...set]);
  expect(different).toEqual([]);
});
