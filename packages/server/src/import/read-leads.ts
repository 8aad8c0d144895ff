/** Reads leads from a file in any format that the import accepts, and refuses other files as a whole. */
import { readCsv } from './csv.ts';
import { recogniseSeparator } from './csv-rows.ts';
import { decodeStream } from './encoding.ts';
import { type ParsedLine, type ReadOptions, type Recognised, UnusableFileError } from './input-line.ts';
import { readJson, readNdjson } from './json.ts';

export type LeadsFormat = 'ndjson' | 'json' | 'csv';

export interface LeadsFile {
  readonly bytes: AsyncIterable<Buffer>;
  readonly format: LeadsFormat;
}

/**
 * Reads leads in the given format. NDJSON may also be JSON: one array, or objects that span several lines. Throws
 * `UnusableFileError` before the first lead if the file cannot be used.
 */
export async function* readLeads(
  file: LeadsFile,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const { encoding, ...decoded } = await decodeStream(file.bytes, options.encoding);
  const { start, bytes } = await peek(decoded.bytes);
  refuseForeignFormat(start);
  const isUtf8 = encoding === undefined || encoding === 'utf-8';
  const found = isUtf8 || options.encoding !== undefined ? {} : { encoding };
  if (file.format === 'csv') {
    if (/\r[^\n]/.test(start) && !start.includes('\n'))
      throw new UnusableFileError(
        'has line breaks that no program uses any more (CR alone)',
        `Replace them: tr '\\r' '\\n' < FILE > leads.csv`,
      );
    const separator = options.separator ?? recogniseSeparator(start);
    const isOther = separator !== ',' && options.separator === undefined;
    reportRecognised({ ...found, ...(isOther && { separator }) }, options);
    return yield* readCsv(bytes, { ...options, encoding, separator });
  }
  refuseCsv(start);
  reportRecognised(found, options);
  const readOptions = { ...options, encoding };
  if (file.format === 'ndjson' && !isJsonDocument(start)) return yield* readNdjson(bytes, readOptions);
  options.onItems();
  yield* readJson(bytes, readOptions);
}

function reportRecognised(found: Recognised, { onRecognised }: ReadOptions): void {
  if (found.encoding !== undefined || found.separator !== undefined) onRecognised?.(found);
}

/** Enough for the first line of most files. */
const PEEK_BYTES = 4096;
const LINE_FEED = 0x0a;

/** Reads only as much as shows the format, because a pipe may pause after its first line. */
async function peek(bytes: AsyncIterable<Buffer>): Promise<{ start: string; bytes: AsyncIterable<Buffer> }> {
  const input = bytes[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  while (start.length < PEEK_BYTES && !hasWholeLine(start)) {
    const { done, value } = await input.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield start;
    yield* { [Symbol.asyncIterator]: () => input };
  }
  // One character per byte: the formats are recognised by ASCII and by signatures.
  return { start: start.toString('latin1', 0, PEEK_BYTES), bytes: all() };
}

function hasWholeLine(start: Buffer): boolean {
  const first = start.findIndex((byte) => byte > 0x20);
  return first !== -1 && start.indexOf(LINE_FEED, first) !== -1;
}

const AS_CSV = 'Open it in the program that made it, and save it as CSV (UTF-8).';
const WITHOUT_ENCODING = 'Leave --encoding out, so that the encoding is recognised.';
const AS_UTF8 = 'Save the file as UTF-8, or add its encoding, such as --encoding utf-16le.';

interface ForeignFormat {
  /** The file begins with one of these, as latin1, or matches the pattern. */
  readonly begins: readonly string[] | RegExp;
  readonly is: string;
  readonly fix: string;
}

/** A ZIP archive that names this file near its beginning. */
const zipWith = (name: string): RegExp => new RegExp(`^PK\\x03\\x04.*${name}`, 's');
const UNPACK = 'Unpack it first, and import the file with the leads in it.';
const NO_LEADS = 'It has no leads. Export them as NDJSON, JSON or CSV.';

const FOREIGN_FORMATS: readonly ForeignFormat[] = [
  { begins: zipWith('xl/'), is: 'is an Excel workbook (.xlsx)', fix: AS_CSV },
  { begins: zipWith('Index/'), is: 'is a Numbers spreadsheet', fix: AS_CSV },
  { begins: zipWith('opendocument'), is: 'is an OpenDocument file', fix: AS_CSV },
  { begins: ['PK'], is: 'is a ZIP archive', fix: UNPACK },
  { begins: ['7z\xbc\xaf', 'Rar!', 'BZh', '\xfd7zXZ', '\x28\xb5\x2f\xfd'], is: 'is an archive', fix: UNPACK },
  { begins: /^.{257}ustar/s, is: 'is a tar archive', fix: UNPACK },
  { begins: ['\x89PNG', '\xff\xd8\xff', 'GIF8'], is: 'is an image', fix: NO_LEADS },
  { begins: /^RIFF.{4}WEBP|^.{4}ftyp(?:heic|avif|mif1)/s, is: 'is an image', fix: NO_LEADS },
  { begins: ['\xd0\xcf\x11\xe0'], is: 'is an old Excel workbook (.xls)', fix: AS_CSV },
  { begins: ['%PDF'], is: 'is a PDF', fix: AS_CSV },
  { begins: ['\xff\xfe', '\xfe\xff'], is: 'is UTF-16', fix: WITHOUT_ENCODING },
  {
    begins: ['\x1f\x8b'],
    is: 'is compressed with gzip',
    fix: 'Give it a name that ends in .gz, or unpack it first: gunzip -c FILE | leadtap leads import -',
  },
  { begins: /\0/, is: 'is UTF-16 or binary', fix: AS_UTF8 },
  { begins: /^\s*<[!?a-z]/i, is: 'is XML or HTML', fix: 'Export the leads as NDJSON, JSON or CSV.' },
  {
    begins: /^\s*\{\s*"companies"\s*:/,
    is: 'looks like an organisation file',
    fix: 'For such a file use `leadtap org apply`.',
  },
];

/** One message for the whole file is better than one for each of its lines. */
function refuseForeignFormat(start: string): void {
  const found = FOREIGN_FORMATS.find(({ begins }) =>
    begins instanceof RegExp ? begins.test(start) : begins.some((bytes) => start.startsWith(bytes)),
  );
  if (found !== undefined) throw new UnusableFileError(found.is, found.fix);
}

/** The name of the file does not say that it is CSV, so it was expected to be NDJSON. */
function refuseCsv(start: string): void {
  const [header = ''] = start.trimStart().split('\n');
  if (/^"?\w+"?[,;\t]/.test(header) && /\bcompanyId\b/.test(header))
    throw new UnusableFileError('looks like CSV', 'Add --format csv.');
}

/** An array, or an object whose first line has nothing but its opening brace, as indented JSON has it. */
const isJsonDocument = (start: string): boolean => /^\s*(\[|\{[ \t\r]*\n)/.test(start);
