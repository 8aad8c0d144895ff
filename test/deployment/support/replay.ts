/** Runs the instructions of the Dockerfile in a folder, without a container engine. */
import { execFile } from 'node:child_process';
import { chown, cp, mkdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { copyOf, type Instruction, ROOT, readDockerfile, type Stage } from './dockerfile.ts';
import { isInContext } from './dockerignore.ts';

const run = promisify(execFile);

export const isRoot = process.getuid?.() === 0;

/** Replays both stages below `folder`, and returns the root of the image's file system. */
export async function replayDockerfile(folder: string): Promise<string> {
  const { build, image } = readDockerfile();
  const buildRoot = join(folder, 'build');
  const imageRoot = join(folder, 'image');
  await new StageReplay(buildRoot, build).run();
  await new StageReplay(imageRoot, image, buildRoot).run();
  await rm(buildRoot, { recursive: true });
  return imageRoot;
}

class StageReplay {
  readonly #root: string;
  readonly #stage: Stage;
  readonly #earlier: string;
  #workdir = '/';

  /** `earlier` is the root of the stage that files are copied from. */
  constructor(root: string, stage: Stage, earlier = '') {
    this.#root = root;
    this.#stage = stage;
    this.#earlier = earlier;
  }

  async run(): Promise<void> {
    for (const instruction of this.#stage.instructions) await this.#replay(instruction);
  }

  async #replay(instruction: Instruction): Promise<void> {
    if (instruction.name === 'WORKDIR') this.#workdir = instruction.text;
    if (instruction.name === 'WORKDIR') await mkdir(this.#place('.'), { recursive: true });
    if (instruction.name === 'COPY') await this.#copy(instruction);
    if (instruction.name === 'RUN') await this.#command(instruction.text);
  }

  #place = (path: string): string => join(this.#root, resolve(this.#workdir, path));

  async #copy(instruction: Instruction): Promise<void> {
    const { sources, destination, from, owner } = copyOf(instruction);
    for (const source of sources) {
      const origin = from === undefined ? join(ROOT, source) : join(this.#earlier, source);
      const isFile = (await stat(origin)).isFile();
      const target = this.#place(
        isFile && destination.endsWith('/') ? destination + basename(source) : destination,
      );
      await mkdir(isFile ? dirname(target) : target, { recursive: true });
      if (from === undefined) await copyFromRepository(origin, target);
      else await run('cp', ['-a', isFile ? origin : `${origin}/.`, target]);
      if (owner !== undefined && isRoot) await giveTo(target, owner);
    }
  }

  async #command(line: string): Promise<void> {
    const env = { ...process.env, NODE_ENV: '', npm_config_prefer_offline: 'true' };
    await run('/bin/sh', ['-c', line], { cwd: this.#place('.'), env, maxBuffer: 1e8 });
  }
}

/** With the modes of the strictest umask, because the umask of the build machine is unknown. */
async function copyFromRepository(origin: string, target: string): Promise<void> {
  const filter = (path: string) => isInContext(relative(ROOT, path));
  await cp(origin, target, { recursive: true, filter });
  await run('chmod', ['-R', 'go=', target]);
}

async function giveTo(path: string, owner: string): Promise<void> {
  const [user, group] = owner.split(':').map(Number);
  if (user === undefined || group === undefined) throw new Error(`${owner} is not user:group`);
  await chown(path, user, group);
}
