import { chmodSync, chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import {
  type Ended,
  type LeadtapProcess,
  spawnProgram,
} from '../../../packages/testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../packages/testing/harness/temp-folder.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));

/** Root runs the program as a user without a name and a home. Any other user has no more rights than that. */
const USER = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : undefined;

export interface Program {
  /** Without a folder it is looked for on the PATH. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A program that was installed, in a folder of a new user with the files of the README. */
export class InstalledProgram {
  readonly folder: string;
  readonly #program: Program;

  constructor(program: Program) {
    const parent = tempFolder();
    chmodSync(parent, 0o755);
    this.folder = join(parent, "the user's files");
    mkdirSync(this.folder);
    for (const name of ['organisation.json', 'leads.csv'])
      copyFileSync(`${EXAMPLES}${name}`, join(this.folder, name));
    if (USER) chownSync(this.folder, USER.uid, USER.gid);
    this.#program = program;
  }

  spawn(argv: readonly string[], env: Record<string, string> = {}): LeadtapProcess {
    return spawnProgram([...this.#program.command, ...argv], {
      cwd: this.folder,
      env: { ...this.#program.env, ...env },
      ...USER,
    });
  }

  run(argv: readonly string[], env?: Record<string, string>): Promise<Ended> {
    return this.spawn(argv, env).ended;
  }

  /** The first steps of the README. Returns a token. */
  async takeFirstSteps(env?: Record<string, string>): Promise<string> {
    expect(await this.run(['org', 'apply', 'organisation.json'], env)).toMatchObject({ code: 0, stderr: '' });
    const imported = await this.run(['leads', 'import', 'leads.csv'], env);
    expect(imported).toMatchObject({ code: 0, stdout: '3 added, 0 updated, 0 rejected\n' });
    const issued = await this.run(['token', 'issue', '--user', 'ada'], env);
    return issued.stdout.trim();
  }

  async serve(
    env?: Record<string, string>,
  ): Promise<{ url: string; statusUrl: string; stop(): Promise<Ended> }> {
    const settings = { LEADTAP_METRICS_ADDRESS: '127.0.0.1:0', ...env };
    const { child, lines, ended } = this.spawn(['serve', '--port', '0'], settings);
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      const { msg, url, statusUrl } = JSON.parse(line.value);
      if (msg !== 'serving new leads') continue;
      const stop = () => {
        child.kill('SIGTERM');
        return ended;
      };
      return { url, statusUrl, stop };
    }
    throw new Error((await ended).stderr);
  }
}
