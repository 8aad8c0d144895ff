import { type FileHandle, open, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemCode } from '../../system-error.ts';
import { Failure } from '../failure.ts';

const LINE_FEED = Buffer.from('\n');

function createFailure(file: string, error: unknown): Failure {
  if (systemCode(error) === 'EEXIST')
    return new Failure(
      'conflict',
      `${file} exists already`,
      'Name another file for --rejects, or move this one away.',
    );
  return new Failure(
    'bad-input',
    `the rejects file ${file} cannot be made`,
    'Check its path, and your right to write there.',
  ).causedBy(error);
}

/** The rejected lines as they stood, so that they can be mended and imported again. */
export class RejectsFile {
  /** The first line of a CSV file, which its rejects need as well. */
  header: Buffer | undefined;
  readonly #path: string;
  readonly #handle: FileHandle;
  #waiting: Buffer[] = [];
  #isEmpty = true;

  /** Never writes over a file, because it may hold the rejects of an earlier import. */
  static async create(file: string, cwd: string): Promise<RejectsFile> {
    const path = resolve(cwd, file);
    const handle = await open(path, 'wx').catch((error: unknown) => {
      throw createFailure(file, error);
    });
    return new RejectsFile(path, handle);
  }

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  add(line: Buffer): void {
    this.#waiting.push(line, LINE_FEED);
  }

  async flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const header = this.#isEmpty && this.header !== undefined ? [this.header, LINE_FEED] : [];
    const lines = Buffer.concat([...header, ...this.#waiting]);
    this.#waiting = [];
    this.#isEmpty = false;
    await this.#handle.appendFile(lines).catch((error: unknown) => {
      throw new Failure(
        'unavailable',
        `the rejects file ${this.#path} cannot be written`,
        'Check the space on its disk.',
      ).causedBy(error);
    });
  }

  /** A file without rejects is removed, so that the next import can make it. */
  async close(): Promise<void> {
    await this.#handle.close();
    if (this.#isEmpty) await unlink(this.#path);
  }
}
