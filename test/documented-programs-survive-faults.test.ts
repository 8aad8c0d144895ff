// @nightly and after a change of docs/ examples/ packages/contract/src/ packages/server/src/intake/ packages/server/src/hooks/ packages/server/src/poll/
/** The polling programs of the documents and in examples/: through a proxy that injects faults, and with a `handle` that fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { folderWith, programOf } from '../packages/client/test/document-program.ts';
import { eventually } from '../packages/server/test/faults/eventually.ts';
import { startService } from '../packages/testing/harness/service.ts';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { FAULTS, layRoad } from '../packages/testing/pollers/fault-proxy.ts';
import { findOnPath, findProgram } from '../packages/testing/servers/find-program.ts';
import { type HandleKind, idsIn, withHandle } from './support/failing-handles.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PYTHON = findProgram({
  name: 'Python 3',
  debian: 'python3',
  homebrew: 'python',
  find: () => findOnPath('python3'),
});

const example = (file: string): string => readFileSync(join(ROOT, 'examples', file), 'utf8');

interface Run {
  readonly folder: string;
  readonly url: string;
  readonly token: string;
  /** Puts another `handle` into the program. */
  readonly patch: (program: string) => string;
}

interface Program {
  readonly name: string;
  readonly folder: () => string;
  /** The command in that folder, and its settings. */
  readonly command: (run: Run) => { readonly argv: readonly string[]; readonly env: Record<string, string> };
  /** That the program has its first position. */
  readonly position: string;
  /** The languages of `handle`. */
  readonly handles: readonly HandleKind[];
  readonly namesIn: (folder: string, output: string) => string[];
}

const readOf = (folder: string, file: string): string =>
  existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : '';
const namesIn = (text: string): string[] => [...text.matchAll(/lead-\d+/g)].map(([name]) => name);

const withNode = (document: string, patch: (program: string, url: string) => string): Program => ({
  name: `the JavaScript of ${document}`,
  folder: () => folderWith(''),
  command: ({ folder, url, token, patch: withHandle }) => {
    writeFileSync(join(folder, 'program.mjs'), withHandle(patch(programOf(document), url)));
    const env = { LEADTAP_URL: url, LEADTAP_TOKEN: token };
    return { argv: [process.execPath, 'program.mjs'], env };
  },
  position: document === 'examples/watch.mjs' ? 'watch.json' : 'checkpoint.json',
  handles: ['sync JavaScript', 'async JavaScript'],
  namesIn: (folder, output) => namesIn(output + readOf(folder, 'leads.txt')),
});

const PROGRAMS: readonly Program[] = [
  withNode('examples/watch.mjs', (program) => program.replace('intervalMs: 5_000', 'intervalMs: 20')),
  withNode('docs/integrations/your-own-program.md', (program, url) =>
    program
      .replace('https://leads.example.com', url)
      .replace('checkpoint })', 'checkpoint, intervalMs: 20 })'),
  ),
  {
    name: 'examples/leads.py',
    folder: tempFolder,
    command: ({ folder, url, token, patch }) => {
      const program = example('leads.py')
        .replace('https://leads.example.com', url)
        .replace('PAUSE = 120', 'PAUSE = 0.2');
      writeFileSync(join(folder, 'leads.py'), patch(program));
      return { argv: [PYTHON, 'leads.py'], env: { LEADTAP_TOKEN: token } };
    },
    position: 'next-url.txt',
    handles: ['sync Python', 'async Python'],
    namesIn: (_folder, output) => namesIn(output),
  },
  {
    name: 'examples/watch.sh',
    folder: () => {
      const folder = tempFolder();
      mkdirSync(join(folder, 'bin'));
      writeFileSync(join(folder, 'bin/sleep'), '#!/bin/sh\nexec /bin/sleep 0.02\n');
      chmodSync(join(folder, 'bin/sleep'), 0o755);
      return folder;
    },
    command: ({ folder, url, token, patch }) => ({
      argv: ['bash', '-c', patch(example('watch.sh'))],
      env: {
        PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        LEADTAP_URL: url,
        LEADTAP_TOKEN: token,
      },
    }),
    position: 'next.url',
    handles: ['bash'],
    namesIn: (folder) =>
      readOf(folder, 'leads.txt')
        .split('\n')
        .filter(Boolean)
        .flatMap((line) => (JSON.parse(line) as { id: string }[]).map(({ id }) => id)),
  },
];

const asItIs = (program: string): string => program;

async function startProgram({ folder: makeFolder, command, position }: Program, patch = asItIs) {
  const service = await startService({ limits: { userPolicies: [] } });
  const road = await layRoad(onTestFinished);
  road.target = service.url;
  const folder = makeFolder();
  const { argv, env } = command({ folder, url: road.url, token: await service.token('boss'), patch });
  const [program = '', ...rest] = argv;
  const output = { text: '' };
  const start = () => {
    const child = spawn(program, rest, {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    const closed = once(child, 'close');
    onTestFinished(async () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      await closed;
    });
    child.stdout.on('data', (text) => {
      output.text += text;
    });
    return { child, closed };
  };
  const first = start();
  await eventually(() => expect(readOf(folder, position)).not.toBe(''));
  return { service, road, folder, output, start, ...first };
}

it.each(PROGRAMS)('$name handles each lead once', async (program) => {
  const { service, road, folder, output, child } = await startProgram(program);
  const expected: string[] = [];
  for (const fault of FAULTS) {
    const left = [fault];
    road.fateOf = () => left.shift() ?? 'arrives';
    const names = [0, 1, 2].map((index) => `lead-${expected.length + index}`);
    await service.add(...names.map((id) => ({ id, fields: { firstName: id, lastName: 'Moreau' } })));
    expected.push(...names);
    await eventually(() => expect(left).toEqual([]));
    await eventually(() => {
      expect(child.exitCode).toBe(null);
      expect(program.namesIn(folder, output.text)).toEqual(expected);
    });
  }
});

const HANDLED = PROGRAMS.flatMap((program) =>
  program.handles.map((handle) => ({ ...program, handle, title: `${program.name}, ${handle}` })),
);

it.each(HANDLED)('$title: a slow `handle` that fails in a burst of 500 loses no lead', async (tested) => {
  const { service, road, folder, start, closed } = await startProgram(tested, withHandle(tested.handle));
  let pages = 0;
  road.fateOf = ({ body }) => {
    if (body.length > 2) pages += 1;
    return 'arrives';
  };
  const ids = Array.from({ length: 500 }, (_, index) => `lead-${index}`);
  await service.add(...ids.map((id) => ({ id })));
  // It ends when `handle` fails, and starts again.
  await closed;
  expect(existsSync(join(folder, 'failed'))).toBe(true);
  start();
  const handled = () => idsIn(readOf(folder, 'handled.txt'));
  await eventually(() => expect(handled().at(-1)).toBe('lead-499'));
  expect([...new Set(handled())]).toEqual(ids);
  // Only the shell script handles whole pages.
  expect(handled().length).toBeLessThanOrEqual(tested.handle === 'bash' ? 600 : 500);
  expect(pages).toBeLessThanOrEqual(6);
});
