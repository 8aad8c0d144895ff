import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { LeadsFile, LeadsFormat } from '../../leads/import/read-leads.ts';
import { messageOf, systemCode } from '../../system-error.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';

export interface LeadsInput extends LeadsFile {
  /** As people call it. */
  readonly name: string;
  /** How much of it has been read, from 0 to 1; undefined when its size is unknown. */
  readonly share: () => number | undefined;
  readonly close: () => void;
}

/** The input began well and then failed: a broken disk, or a broken archive. */
export class InputBrokenError extends Error {
  override readonly name = 'InputBrokenError';
}

const STANDARD_INPUT = '-';
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

function openFailure(file: string, error: unknown): Failure {
  if (systemCode(error) === 'ENOENT')
    return new Failure(
      'not-found',
      `there is no file ${file}`,
      'Check the path. "-" reads from standard input.',
    );
  return new Failure(
    'bad-input',
    `${file} cannot be read`,
    'Check its path, and your right to read it.',
  ).causedBy(error);
}

async function openFile(file: string, cwd: string): Promise<FileHandle> {
  const handle = await open(resolve(cwd, file)).catch((error: unknown) => {
    throw openFailure(file, error);
  });
  if (!(await handle.stat()).isDirectory()) return handle;
  await handle.close();
  throw new Failure('bad-input', `${file} is a folder`, 'Name the file with the leads in it.');
}

/** A pipe cannot be read twice, and is taken for what its name says. */
async function isGzip(handle: FileHandle): Promise<boolean> {
  if (!(await handle.stat()).isFile()) return true;
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.equals(GZIP_MAGIC);
}

const notGzip = (file: string): Failure =>
  new Failure(
    'bad-input',
    `${file} is not compressed with gzip, although its name ends in .gz; nothing was imported`,
    'Remove .gz from its name, or compress it with gzip.',
  );

async function* chunks(stream: Readable, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  } catch (error) {
    if (signal.aborted) throw error;
    const reason = isSystemError(error) ? systemCode(error) : messageOf(error);
    throw new InputBrokenError(`${name} cannot be read to its end: ${reason}`, { cause: error });
  }
}

/** Its message repeats the path and names a system call, which does not help. */
const isSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;

const formatOf = (file: string): LeadsFormat => (/\.csv(\.gz)?$/i.test(file) ? 'csv' : 'ndjson');

/** Opens a file, which may be compressed with gzip, or standard input. */
export async function openLeadsInput(
  file: string,
  format: LeadsFormat | undefined,
  { cwd, stdin, signal }: CommandContext,
): Promise<LeadsInput> {
  if (file === STANDARD_INPUT) {
    const name = 'standard input';
    const bytes = chunks(stdin, name, signal);
    return { name, format: format ?? 'ndjson', bytes, share: () => undefined, close: () => stdin.destroy() };
  }
  const handle = await openFile(file, cwd);
  const { size } = await handle.stat();
  const isNamedGzip = /\.gz$/i.test(file);
  if (isNamedGzip && !(await isGzip(handle))) {
    await handle.close();
    throw notGzip(file);
  }
  const stream = handle.createReadStream();
  const plain = isNamedGzip ? pipeline(stream, createGunzip(), () => {}) : stream;
  // Whoever reads hears of it, however long after it has happened; nobody else need be told.
  plain.on('error', () => undefined);
  return {
    name: file,
    format: format ?? formatOf(file),
    bytes: chunks(plain, file, signal),
    share: () => (size > 0 ? Math.min(stream.bytesRead / size, 1) : undefined),
    close: () => stream.destroy(),
  };
}
