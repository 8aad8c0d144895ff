// @nightly and after a change of Dockerfile .dockerignore package.json package-lock.json packages/contract/package.json packages/server/package.json packages/server/bin/ test/deployment/support/
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../packages/testing/servers/free-port.ts';
import { environmentOf, execForm, lastOf, readDockerfile } from './support/dockerfile.ts';
import { isRoot, replayDockerfile } from './support/replay.ts';

const { image } = readDockerfile();
const run = promisify(execFile);
let folder: string;
let root: string;

// Installs all dependencies again, from npm's cache if possible.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadtap-image-'));
  // The user of the service may read everything in it and change nothing.
  await chmod(folder, 0o755);
  root = await replayDockerfile(folder);
  await run('chmod', ['-R', 'a-w', root]);
  await chmod(join(root, 'app/data'), 0o700);
});

afterAll(async () => {
  await run('chmod', ['-R', 'u+w', folder]);
  await rm(folder, { recursive: true });
});

/** Root runs commands as the user of the image. Any other user has no more permissions than that user. */
function asTheUser(): { uid: number; gid: number } | Record<string, never> {
  const [uid = 0, gid = 0] = lastOf(image, 'USER').text.split(':').map(Number);
  return isRoot ? { uid, gid } : {};
}

type Exec = (command: readonly string[]) => ChildProcess;

/** Runs commands in the environment of the image, on a free port. */
async function container(): Promise<Exec> {
  const { PATH, ...ofTheImage } = environmentOf(image);
  const places = {
    LEADTAP_HOST: '127.0.0.1',
    LEADTAP_PORT: String(await freePort()),
    LEADTAP_METRICS_ADDRESS: 'off',
  };
  // Not the PATH of the tests, which contains another `leadtap`.
  const path = `${join(root, 'app/node_modules/.bin')}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const env = { ...ofTheImage, ...places, PATH: path };
  expect(PATH).toBe('/app/node_modules/.bin:$PATH');
  return ([program = '', ...argv]) => {
    const command = program === 'node' ? process.execPath : program;
    const inside = argv.map((word) => (word.startsWith('/app/') ? join(root, word) : word));
    return spawn(command, inside, {
      ...asTheUser(),
      cwd: join(root, 'app'),
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  };
}

const exitCode = async (child: ChildProcess): Promise<number | null> => (await once(child, 'exit'))[0];

async function untilItServes(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error('Its output is not read.');
  for await (const line of createInterface(child.stdout)) if (line.includes('serving new leads')) return;
  throw new Error('It ended before it served.');
}

test('the image serves as its user, is healthy meanwhile, and stops cleanly on SIGTERM', async () => {
  const exec = await container();
  const health = () => exitCode(exec(execForm(lastOf(image, 'HEALTHCHECK'))));
  expect(await health()).toBe(1);

  const service = exec([...execForm(lastOf(image, 'ENTRYPOINT')), ...execForm(lastOf(image, 'CMD'))]);
  onTestFinished(() => void service.kill('SIGKILL'));
  await untilItServes(service);
  expect(await health()).toBe(0);

  const ended = exitCode(service);
  service.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(await health()).toBe(1);
  expect(await readdir(join(root, 'app/data'))).toEqual(
    expect.arrayContaining(['leadtap.db', 'signing.key']),
  );
});

test('the command is on the PATH, for `exec` in a running container', async () => {
  const exec = await container();
  const version = exec(['leadtap', '--version']);
  expect(await exitCode(version)).toBe(0);
});

test('the image contains only what production needs', async () => {
  const app = join(root, 'app');
  expect((await readdir(app)).sort()).toEqual([
    'LICENSE',
    'data',
    'healthcheck.mjs',
    'node_modules',
    'packages',
  ]);
  const modules = await readdir(join(app, 'node_modules'));
  expect(modules).toEqual(expect.arrayContaining(['commander', 'pg']));
  for (const tool of ['typescript', 'vitest', 'fast-check']) expect(modules).not.toContain(tool);
  expect(await readdir(join(app, 'packages'))).not.toContain('testing');
  expect(await readdir(join(app, 'packages/server'))).not.toContain('test');
});

test.runIf(isRoot)('the data belongs to the user, the program does not', async () => {
  const { uid, gid } = asTheUser();
  expect(uid).toBeGreaterThan(0);
  expect(await stat(join(root, 'app/data'))).toMatchObject({ uid, gid });
  expect(await stat(join(root, 'app/packages/server/bin/leadtap.js'))).toMatchObject({ uid: 0 });
});
