/** The options of `leads import` about CSV: separator, encoding, and which columns are which fields. */
import { InvalidArgumentError } from 'commander';
import type { ColumnMap, Encoding, Separator } from '../../import/input-line.ts';
import type { LeadsFormat } from '../../import/read-leads.ts';
import { createDateFormat, type DateFormat } from '../../leads/lead-times.ts';
import { fieldProblem } from '../../leads/parse-lead.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../exit.ts';
import { type FieldMap, parsePair } from '../field-map.ts';

export interface CsvFlags {
  readonly format?: LeadsFormat;
  readonly separator?: Separator;
  readonly map?: readonly (FieldMap[number] | typeof AUTO)[];
  readonly historical?: true;
}

/** `--map auto`: the columns that have no field get the suggested one. */
const AUTO = 'auto';

const SEPARATORS: ReadonlyMap<string, Separator> = new Map([
  [',', ','],
  ['comma', ','],
  [';', ';'],
  ['semicolon', ';'],
  ['tab', '\t'],
  ['\\t', '\t'],
  ['\t', '\t'],
]);

export function parseSeparator(text: string): Separator {
  const separator = SEPARATORS.get(text.toLowerCase());
  if (separator === undefined) throw new InvalidArgumentError('Write "," or ";" or tab.');
  return separator;
}

const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['utf8', 'utf-8'],
  ['utf16le', 'utf-16le'],
  ['utf16be', 'utf-16be'],
  ['windows1252', 'windows-1252'],
  ['cp1252', 'windows-1252'],
  ['latin1', 'windows-1252'],
  ['iso88591', 'windows-1252'],
]);

export function parseEncoding(text: string): Encoding {
  const encoding = ENCODINGS.get(text.toLowerCase().replace(/[-_]/g, ''));
  if (encoding === undefined)
    throw new InvalidArgumentError('Write utf-8, utf-16le, utf-16be, windows-1252 or latin1.');
  return encoding;
}

/** Collects the values of a repeated `--date-format`. */
export function collectDateFormat(
  text: string,
  collected: readonly DateFormat[] = [],
): readonly DateFormat[] {
  const format = createDateFormat(text);
  if (format !== undefined) return [...collected, format];
  throw new InvalidArgumentError(
    'Write a year, a month and a day such as DD.MM.YYYY, MM/DD/YYYY or D MMM YY, and a time such as HH:mm, HH:mm:ss or h:mm A.',
  );
}

export const collectMap = (
  text: string,
  collected: NonNullable<CsvFlags['map']> = [],
): NonNullable<CsvFlags['map']> => [
  ...collected,
  text === AUTO ? AUTO : parsePair(text, 'Write COLUMN=FIELD, such as "Vorname=firstName", or auto.'),
];

/** The format of the file. Options that are for CSV alone say that it is CSV. */
export function formatOfFlags({ format, separator, map }: CsvFlags): LeadsFormat | undefined {
  const given = [
    ...(separator === undefined ? [] : ['--separator']),
    ...(map === undefined ? [] : ['--map']),
  ];
  if (format !== undefined && format !== 'csv' && given.length > 0)
    throw new Failure('usage', `${given.join(' and ')} can only be used for CSV`, 'Add --format csv.');
  return given.length > 0 ? 'csv' : format;
}

export interface GivenColumnMap {
  readonly columns: ColumnMap;
  readonly isAuto: boolean;
}

export function readColumnMap({ map = [], historical }: CsvFlags, { clock }: CommandContext): GivenColumnMap {
  const columns = new Map(map.filter((flag) => flag !== AUTO));
  const problems = [...columns].flatMap(([column, field]) => {
    const problem =
      field === '' ? undefined : fieldProblem(field, { historical: historical === true, clock });
    return problem === undefined ? [] : [`"${column}=${field}": ${field} ${problem}`];
  });
  if (problems.length > 0)
    throw new Failure('usage', 'columns are mapped to fields that do not exist', ...problems);
  return { columns, isAuto: map.includes(AUTO) };
}
