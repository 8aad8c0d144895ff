import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { LeadsFile, LeadsFormat } from '../../leads/import/read-leads.ts';
import { messageOf, systemCode } from '../../system-error.ts';
import type { CommandContext } from '../context.ts';
import { Failure, fileFailure } from '../failure.ts';

export interface LeadsInput extends LeadsFile {
  /** The name for messages. */
  readonly name: string;
  /** The share that has been read, from 0 to 1. Undefined if the size is unknown. */
  readonly share: () => number | undefined;
  readonly close: () => void;
}

/** Reading failed after a good start: a disk error, or a damaged archive. */
export class InputBrokenError extends Error {
  override readonly name = 'InputBrokenError';
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** Opens a file, which may be compressed with gzip, or standard input (`-`). */
export async function openLeadsInput(
  file: string,
  format: LeadsFormat | undefined,
  { cwd, stdin, signal }: CommandContext,
): Promise<LeadsInput> {
  if (file === '-') {
    const name = 'standard input';
    const bytes = readChunks(stdin, name, signal);
    return { name, format: format ?? 'ndjson', bytes, share: () => undefined, close: () => stdin.destroy() };
  }
  const isGzip = /\.gz$/i.test(file);
  const handle = await open(resolve(cwd, file)).catch((error: unknown) => {
    throw fileFailure(file, error);
  });
  await checkFile(handle, file, isGzip).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  const { size } = await handle.stat();
  const stream = handle.createReadStream();
  const plain = isGzip ? pipeline(stream, createGunzip(), () => undefined) : stream;
  // The reader gets the error from the iterator. Without a listener, Node would end the process first.
  plain.on('error', () => undefined);
  return {
    name: file,
    format: format ?? (/\.csv(\.gz)?$/i.test(file) ? 'csv' : 'ndjson'),
    bytes: readChunks(plain, file, signal),
    share: () => (size > 0 ? Math.min(stream.bytesRead / size, 1) : undefined),
    close: () => stream.destroy(),
  };
}

async function checkFile(handle: FileHandle, file: string, isGzip: boolean): Promise<void> {
  const stats = await handle.stat();
  if (stats.isDirectory())
    throw new Failure('bad-input', `${file} is a folder`, 'Name the file that contains the leads.');
  // A pipe cannot be read twice, so its content is not checked.
  if (!isGzip || !stats.isFile()) return;
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  if (!buffer.equals(GZIP_MAGIC))
    throw new Failure(
      'bad-input',
      `${file} is not compressed with gzip, although its name ends in .gz; nothing was imported`,
      'Remove .gz from its name, or compress it with gzip.',
    );
}

async function* readChunks(stream: Readable, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  } catch (error) {
    if (signal.aborted) throw error;
    // The message of a system error repeats the path and names a system call; its code is clearer.
    const isSystemError = error instanceof Error && 'syscall' in error;
    const reason = isSystemError ? systemCode(error) : messageOf(error);
    throw new InputBrokenError(`${name} cannot be read to its end: ${reason}`, { cause: error });
  }
}
