/** The file that an import reads, and the file for the lines that it rejects. */
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { LeadsFile, LeadsFormat } from '../../import/read-leads.ts';
import { messageOf, systemCode } from '../../lib/system-error.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../exit.ts';
import { fileFailure } from '../failure.ts';

export interface ImportInput extends LeadsFile {
  /** For messages. */
  readonly name: string;
  /** The part that has been read, from 0 to 1; undefined if the size is unknown. */
  readonly share: () => number | undefined;
  readonly close: () => void;
}

/** Reading failed after the start: a broken disk, or a broken archive. */
export class BrokenInputError extends Error {
  override readonly name = 'BrokenInputError';
}

const STANDARD_INPUT = '-';

async function openFile(file: string, cwd: string): Promise<FileHandle> {
  const handle = await open(resolve(cwd, file)).catch((error: unknown) => {
    throw fileFailure(file, error);
  });
  if (!(await handle.stat()).isDirectory()) return handle;
  await handle.close();
  throw new Failure('bad-input', `${file} is a folder`, 'Name the file with the leads in it.');
}

/** The message of a system error repeats the path and names a system call, so its code is shown instead. */
const readErrorReason = (error: unknown): string | undefined =>
  error instanceof Error && 'syscall' in error ? systemCode(error) : messageOf(error);

async function* readChunks(stream: Readable, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  } catch (error) {
    if (signal.aborted) throw error;
    throw new BrokenInputError(`${name} cannot be read to its end: ${readErrorReason(error)}`, {
      cause: error,
    });
  }
}

const formatOf = (file: string): LeadsFormat => (/\.(csv|tsv)(\.gz)?$/i.test(file) ? 'csv' : 'ndjson');

/** Opens a file, which may be compressed with gzip, or standard input. */
export async function openInput(
  file: string,
  format: LeadsFormat | undefined,
  { cwd, stdin, signal }: CommandContext,
): Promise<ImportInput> {
  if (file === STANDARD_INPUT) {
    const name = 'standard input';
    const bytes = readChunks(stdin, name, signal);
    return { name, format: format ?? 'ndjson', bytes, share: () => undefined, close: () => stdin.destroy() };
  }
  const handle = await openFile(file, cwd);
  const { size } = await handle.stat();
  const stream = handle.createReadStream();
  const content = /\.gz$/i.test(file) ? pipeline(stream, createGunzip(), () => {}) : stream;
  // The reader gets the error from its iteration; without a listener it would also be an uncaught exception.
  content.on('error', () => undefined);
  return {
    name: file,
    format: format ?? formatOf(file),
    bytes: readChunks(content, file, signal),
    share: () => (size > 0 ? Math.min(stream.bytesRead / size, 1) : undefined),
    close: () => stream.destroy(),
  };
}

const LINE_FEED = Buffer.from('\n');

/** Rejected lines, unchanged, so that they can be fixed and imported again. */
export class RejectsFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  #pending: Buffer[] = [];
  #isEmpty = true;

  /** Never overwrites a file, because it may contain the rejected lines of an earlier import. */
  static async create(file: string, cwd: string): Promise<RejectsFile> {
    const path = resolve(cwd, file);
    const handle = await open(path, 'wx').catch((error: unknown) => {
      if (systemCode(error) === 'EEXIST')
        throw new Failure(
          'conflict',
          `${file} already exists`,
          'Name another file for --rejects, or move this one away.',
        );
      const fix = 'Check the path, and that you may write there.';
      throw new Failure('bad-input', `the rejects file ${file} cannot be created`, fix).causedBy(error);
    });
    return new RejectsFile(path, handle);
  }

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  add(line: Buffer): void {
    this.#pending.push(line, LINE_FEED);
  }

  /** The rejected rows of CSV need its header, too. */
  async flush(header: Buffer | undefined): Promise<void> {
    if (this.#pending.length === 0) return;
    const start = this.#isEmpty && header !== undefined ? [header, LINE_FEED] : [];
    const lines = Buffer.concat([...start, ...this.#pending]);
    this.#pending = [];
    this.#isEmpty = false;
    await this.#handle.appendFile(lines).catch((error: unknown) => {
      const message = `the rejects file ${this.#path} cannot be written`;
      throw new Failure('unavailable', message, 'Check the free space on its disk.').causedBy(error);
    });
  }

  /** An empty file is removed, so that the next import can create it. */
  async close(): Promise<void> {
    await this.#handle.close();
    if (this.#isEmpty) await unlink(this.#path);
  }
}
