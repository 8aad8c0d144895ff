/** Reads leads from a file in any format that the import accepts, and refuses other files as a whole. */
import { readCsv } from './csv.ts';
import type { ParsedLine } from './input-line.ts';
import { readJson, readNdjson } from './json.ts';
import type { ParseOptions } from './parse-lead.ts';

export type LeadsFormat = 'ndjson' | 'csv';

export interface LeadsFile {
  readonly bytes: AsyncIterable<Buffer>;
  readonly format: LeadsFormat;
}

export interface ReadOptions extends ParseOptions {
  /** The first lines of the file, or the first items of a JSON array, that are left out. */
  readonly skipLines: number;
  /** Called with the header row of CSV, unchanged. */
  readonly onHeader: (raw: Buffer) => void;
  /** Called before the first item if the file is a JSON array: items are counted, not lines. */
  readonly onItems: () => void;
}

/** The file is not in a format that the import reads. */
export class FileFormatError extends Error {
  override readonly name = 'FileFormatError';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/**
 * Reads leads in the given format. NDJSON may also be one JSON array, or objects that span several lines. Throws
 * `FileFormatError` or `HeaderError` before the first lead if the file cannot be used.
 */
export async function* readLeads(
  file: LeadsFile,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const { start, bytes } = await peek(file.bytes);
  refuseForeignFormat(start);
  if (file.format === 'csv') return yield* readCsv(bytes, options);
  refuseCsv(start);
  if (!isJsonDocument(start)) return yield* readNdjson(bytes, options);
  options.onItems();
  yield* readJson(bytes, options);
}

/** Enough for the first line of most files. */
const PEEK_BYTES = 4096;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads only as much as shows the format, because a pipe may pause after its first line. Removes the byte order mark. */
async function peek(bytes: AsyncIterable<Buffer>): Promise<{ start: string; bytes: AsyncIterable<Buffer> }> {
  const input = bytes[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  while (start.length < PEEK_BYTES && !hasWholeLine(start)) {
    const { done, value } = await input.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const content = withoutByteOrderMark(start);
  async function* all(): AsyncGenerator<Buffer> {
    yield content;
    yield* { [Symbol.asyncIterator]: () => input };
  }
  // One character per byte: the formats are recognised by ASCII and by signatures.
  return { start: content.toString('latin1', 0, PEEK_BYTES), bytes: all() };
}

const withoutByteOrderMark = (start: Buffer): Buffer =>
  start.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? start.subarray(BYTE_ORDER_MARK.length)
    : start;

function hasWholeLine(start: Buffer): boolean {
  const content = withoutByteOrderMark(start);
  const first = content.findIndex((byte) => byte > 0x20);
  return first !== -1 && content.indexOf(LINE_FEED, first) !== -1;
}

const AS_CSV = 'Open it in the program that made it, and save it as CSV (UTF-8).';
const AS_UTF8 = 'Save the file as UTF-8.';

interface ForeignFormat {
  /** The file begins with one of these, as latin1, or matches the pattern. */
  readonly begins: readonly string[] | RegExp;
  readonly is: string;
  readonly hint: string;
}

const FOREIGN_FORMATS: readonly ForeignFormat[] = [
  { begins: ['PK'], is: 'is an Excel workbook (.xlsx) or another ZIP archive', hint: AS_CSV },
  { begins: ['\xd0\xcf\x11\xe0'], is: 'is an old Excel workbook (.xls)', hint: AS_CSV },
  { begins: ['%PDF'], is: 'is a PDF', hint: AS_CSV },
  { begins: ['\xff\xfe', '\xfe\xff'], is: 'is UTF-16', hint: AS_UTF8 },
  {
    begins: ['\x1f\x8b'],
    is: 'is compressed with gzip',
    hint: 'Give it a name that ends in .gz, or unpack it first: gunzip -c FILE | leadtap leads import -',
  },
  { begins: /\0/, is: 'is UTF-16 or binary', hint: AS_UTF8 },
  { begins: /^\s*<[!?a-z]/i, is: 'is XML or HTML', hint: 'Export the leads as NDJSON, JSON or CSV.' },
  {
    begins: /^\s*\{\s*"companies"\s*:/,
    is: 'looks like an organisation file',
    hint: 'For such a file use `leadtap org apply`.',
  },
];

/** One message for the whole file is better than one for each of its lines. */
function refuseForeignFormat(start: string): void {
  const found = FOREIGN_FORMATS.find(({ begins }) =>
    begins instanceof RegExp ? begins.test(start) : begins.some((bytes) => start.startsWith(bytes)),
  );
  if (found !== undefined) throw new FileFormatError(found.is, found.hint);
}

/** The name of the file does not say that it is CSV, so it was expected to be NDJSON. */
function refuseCsv(start: string): void {
  const [header = ''] = start.trimStart().split('\n');
  if (/^"?\w+"?[,;\t]/.test(header) && /\bcompanyId\b/.test(header))
    throw new FileFormatError('looks like CSV', 'Add --format csv, or give it a name that ends in .csv.');
}

/** An array, or an object whose first line has nothing but its opening brace, as indented JSON has it. */
const isJsonDocument = (start: string): boolean => /^\s*(\[|\{[ \t\r]*\n)/.test(start);
