/** Reads leads from a file in any format that the import accepts, and refuses other files as a whole. */
import { DateFormatGuess } from '../leads/lead-times.ts';
import { readCsv, recogniseSeparator } from './csv.ts';
import { decodeStream, peek } from './encoding.ts';
import { type ParsedLine, type ReadOptions, SEPARATOR_NAMES, UnusableFileError } from './input-line.ts';
import { readJson, readNdjson } from './json.ts';

export type LeadsFormat = 'ndjson' | 'json' | 'csv';

export interface LeadsFile {
  readonly bytes: AsyncIterable<Buffer>;
  readonly format: LeadsFormat;
}

/**
 * Reads leads in the given format. NDJSON may also be a JSON document. Throws `UnusableFileError` before the first lead if the
 * file cannot be used.
 */
export async function* readLeads(file: LeadsFile, given: ReadOptions): AsyncGenerator<readonly ParsedLine[]> {
  const { facts } = given;
  const { encoding, ...decoded } = await decodeStream(file.bytes, given.encoding);
  // Only as much as shows the format, because a pipe may pause after its first line.
  const peeked = await peek(decoded.bytes, (start) => start.length >= PEEK_BYTES || hasWholeLine(start));
  // One character per byte: the formats are recognised by ASCII and by signatures.
  const start = peeked.start.toString('latin1', 0, PEEK_BYTES);
  refuseForeignFormat(start);
  if (given.encoding === undefined && encoding?.startsWith('utf-16'))
    facts.notes.push(`${facts.name} is read as ${encoding.toUpperCase()}. If that is wrong, use --encoding.`);
  const options: ReadOptions = {
    ...given,
    encoding,
    onInvalidTime: (field, text) => {
      const guess = facts.timeGuesses.get(field) ?? new DateFormatGuess();
      facts.timeGuesses.set(field, guess.add(text));
    },
  };
  if (file.format === 'csv') {
    facts.separator = given.separator ?? recogniseSeparator(start);
    if (given.separator === undefined && facts.separator !== ',')
      facts.notes.push(
        `${facts.name} is read with ${SEPARATOR_NAMES[facts.separator]}s between the cells. If that is wrong, use --separator.`,
      );
    return yield* readCsv(peeked.bytes, options);
  }
  refuseText(start);
  const isDocument = file.format === 'json' || isJsonDocument(start);
  yield* isDocument ? readJson(peeked.bytes, options) : readNdjson(peeked.bytes, options);
}

/** Enough for the first line of most files. */
const PEEK_BYTES = 4096;
const LINE_FEED = 0x0a;

function hasWholeLine(start: Buffer): boolean {
  const first = start.findIndex((byte) => byte > 0x20);
  return first !== -1 && start.indexOf(LINE_FEED, first) !== -1;
}

const AS_CSV = 'Open it in the program that made it, and save it as CSV (UTF-8).';

const begins =
  (...signatures: string[]) =>
  (start: string): boolean =>
    signatures.some((signature) => start.startsWith(signature));

/** By the beginning of a file, as latin1. */
const FOREIGN_FORMATS: readonly {
  readonly matches: (start: string) => boolean;
  readonly is: string;
  readonly fix: string;
}[] = [
  {
    matches: begins('PK\x03\x04'),
    is: 'is a spreadsheet (.xlsx, .ods, .numbers) or a ZIP archive',
    fix: `${AS_CSV} Unpack an archive first.`,
  },
  { matches: begins('\xd0\xcf\x11\xe0'), is: 'is an old Excel workbook (.xls)', fix: AS_CSV },
  { matches: begins('%PDF'), is: 'is a PDF', fix: AS_CSV },
  {
    matches: begins('\x1f\x8b'),
    is: 'is compressed with gzip',
    fix: 'Give it a name that ends in .gz, or unpack it first: gunzip -c FILE | leadtap leads import -',
  },
  {
    matches: (start) => start.includes('\0') || begins('\xff\xfe', '\xfe\xff')(start),
    is: 'is UTF-16 or binary',
    fix: 'Save the file as UTF-8, or add its encoding, such as --encoding utf-16le.',
  },
  {
    matches: (start) => /^\s*<[!?a-z]/i.test(start),
    is: 'is XML or HTML',
    fix: 'Export the leads as NDJSON, JSON or CSV.',
  },
  {
    matches: (start) => /^\s*\{\s*"companies"\s*:/.test(start),
    is: 'looks like an organisation file',
    fix: 'For such a file use `leadtap org apply`.',
  },
];

/** One message for the whole file is better than one for each of its lines. */
function refuseForeignFormat(start: string): void {
  const found = FOREIGN_FORMATS.find(({ matches }) => matches(start));
  if (found) throw new UnusableFileError(found.is, found.fix);
}

/** NDJSON and JSON begin with a bracket. The name of the file does not say that it is CSV. */
function refuseText(start: string): void {
  if (/^\s*(?:[{[]|$)/.test(start)) return;
  throw new UnusableFileError(
    'is not JSON',
    'Export the leads as NDJSON, JSON or CSV; for CSV add --format csv, or give it a name that ends in .csv.',
  );
}

/** An array, or an object whose first line has nothing but its opening brace, as indented JSON has it. */
const isJsonDocument = (start: string): boolean => /^\s*(\[|\{[ \t\r]*\n)/.test(start);
