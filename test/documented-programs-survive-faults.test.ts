/** The polling programs of the documents and in examples/, through a proxy that injects faults. */
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
}

interface Program {
  readonly name: string;
  readonly folder: () => string;
  /** The command in that folder, and its settings. */
  readonly command: (run: Run) => { readonly argv: readonly string[]; readonly env: Record<string, string> };
  /** That the program has its first position. */
  readonly position: string;
  readonly namesIn: (folder: string, output: string) => string[];
}

const readOf = (folder: string, file: string): string =>
  existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : '';
const namesIn = (text: string): string[] => [...text.matchAll(/lead-\d+/g)].map(([name]) => name);

const withNode = (document: string, patch: (program: string, url: string) => string): Program => ({
  name: `the JavaScript of ${document}`,
  folder: () => folderWith(''),
  command: ({ folder, url, token }) => {
    writeFileSync(join(folder, 'program.mjs'), patch(programOf(document), url));
    const env = { LEADTAP_URL: url, LEADTAP_TOKEN: token };
    return { argv: [process.execPath, 'program.mjs'], env };
  },
  position: document === 'examples/watch.mjs' ? 'watch.json' : 'checkpoint.json',
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
    command: ({ folder, url, token }) => {
      const program = example('leads.py')
        .replace('https://leads.example.com', url)
        .replace('PAUSE = 120', 'PAUSE = 0.2');
      writeFileSync(join(folder, 'leads.py'), program);
      return { argv: [PYTHON, 'leads.py'], env: { LEADTAP_TOKEN: token } };
    },
    position: 'next-url.txt',
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
    command: ({ folder, url, token }) => ({
      argv: ['bash', '-c', example('watch.sh')],
      env: {
        PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        LEADTAP_URL: url,
        LEADTAP_TOKEN: token,
      },
    }),
    position: 'next.url',
    namesIn: (folder) =>
      readOf(folder, 'leads.txt')
        .split('\n')
        .filter(Boolean)
        .flatMap((line) => (JSON.parse(line) as { id: string }[]).map(({ id }) => id)),
  },
];

it.each(PROGRAMS)(
  '$name handles each lead once',
  async ({ folder: makeFolder, command, position, namesIn }) => {
    const service = await startService({ limits: { userPolicies: [] } });
    const road = await layRoad(onTestFinished);
    road.target = service.url;
    const folder = makeFolder();
    const { argv, env } = command({ folder, url: road.url, token: await service.token('boss') });
    const [program = '', ...rest] = argv;
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
    let output = '';
    child.stdout.on('data', (text) => {
      output += text;
    });
    await eventually(() => expect(readOf(folder, position)).not.toBe(''));

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
        expect(namesIn(folder, output)).toEqual(expected);
      });
    }
  },
);
