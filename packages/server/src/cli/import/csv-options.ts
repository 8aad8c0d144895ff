/** The options of `leads import` about CSV: separator, encoding, and which columns are which fields. */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { ColumnMap, Encoding, Separator } from '../../import/input-line.ts';
import type { LeadsFormat } from '../../import/read-leads.ts';
import { createDateFormat, type DateFormat, nearestTimeZone } from '../../leads/lead-times.ts';
import { fieldProblem } from '../../leads/parse-lead.ts';
import { findTimeZone } from '../../lib/clock.ts';
import { isJsonObject } from '../../lib/json.ts';
import { messageOf, systemCode } from '../../lib/system-error.ts';
import type { CommandContext } from '../context.ts';
import { Failure, fileFailure } from '../failure.ts';
import { writeLine } from '../output.ts';

export interface CsvFlags {
  readonly format?: LeadsFormat;
  readonly separator?: Separator;
  readonly map?: readonly (MapFlag | typeof AUTO)[];
  readonly mapFile?: string;
  readonly historical?: true;
}

type MapFlag = readonly [column: string, field: string];

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

export function parseTimeZone(text: string): string {
  const timeZone = findTimeZone(text);
  if (timeZone !== undefined) return timeZone;
  const near = nearestTimeZone(text);
  throw new InvalidArgumentError(
    near === undefined
      ? 'Write the name of a time zone, such as Europe/Berlin, America/New_York or UTC.'
      : `Did you mean ${near}?`,
  );
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

/** A column may have an equals sign in its name; a field has none. */
export function collectMap(
  text: string,
  collected: NonNullable<CsvFlags['map']> = [],
): NonNullable<CsvFlags['map']> {
  if (text === AUTO) return [...collected, AUTO];
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write COLUMN=FIELD, such as "Vorname=firstName", or auto.');
  return [...collected, [text.slice(0, at), text.slice(at + 1).trim()]];
}

/** The format of the file. Options that are for CSV alone say that it is CSV. */
export function formatOfFlags({ format, separator, map, mapFile }: CsvFlags): LeadsFormat | undefined {
  const given = [
    ...(separator === undefined ? [] : ['--separator']),
    ...(map === undefined ? [] : ['--map']),
    ...(mapFile === undefined ? [] : ['--map-file']),
  ];
  if (format !== undefined && format !== 'csv' && given.length > 0)
    throw new Failure('usage', `${given.join(' and ')} can only be used for CSV`, 'Add --format csv.');
  return given.length > 0 ? 'csv' : format;
}

export interface SavedColumnMap {
  readonly columns: ColumnMap;
  readonly isAuto: boolean;
  /** Writes the map, with the fields that `--map auto` has found, to the file of --map-file, if it has changed. */
  readonly save: (suggested: ColumnMap) => Promise<void>;
}

/** The mapping of --map-file, changed by --map. */
export async function loadColumnMap(flags: CsvFlags, context: CommandContext): Promise<SavedColumnMap> {
  const { map = [], mapFile, historical = false } = flags;
  const options = { historical, clock: context.clock };
  const given = map.filter((flag) => flag !== AUTO);
  const saved = mapFile === undefined ? [] : await readMapFile(mapFile, map.length > 0, context);
  const columns = new Map([...saved, ...given]);
  const problems = [...columns].flatMap(([column, field]) => {
    const problem = field === '' ? undefined : fieldProblem(field, options);
    return problem === undefined ? [] : [`"${column}=${field}": ${field} ${problem}`];
  });
  if (problems.length > 0)
    throw new Failure('usage', 'columns are mapped to fields that do not exist', ...problems);
  const before = new Map(saved);
  const save = async (suggested: ColumnMap) => {
    const all = new Map([...columns, ...suggested]);
    const isChanged = [...all].some(([column, field]) => before.get(column) !== field);
    if (mapFile !== undefined && isChanged) await writeMapFile(mapFile, all, context);
  };
  return { columns, isAuto: map.includes(AUTO), save };
}

const MAP_EXAMPLE =
  'Write an object such as { "Vorname": "firstName", "Notiz": "customFields.note", "Alt": "" }.';

async function readMapFile(file: string, mayCreate: boolean, { cwd }: CommandContext): Promise<MapFlag[]> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    if (mayCreate && systemCode(error) === 'ENOENT') return '{}';
    throw fileFailure(file, error);
  });
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new Failure('bad-input', `the map file ${file} is not JSON`, messageOf(error), MAP_EXAMPLE);
  }
  if (!isJsonObject(value))
    throw new Failure('bad-input', `the map file ${file} is not an object`, MAP_EXAMPLE);
  return Object.entries(value).map(([column, field]) => {
    if (typeof field === 'string' || field === null) return [column, field ?? ''];
    throw new Failure('bad-input', `${file}: the field of "${column}" must be a string`, MAP_EXAMPLE);
  });
}

async function writeMapFile(file: string, columns: ColumnMap, context: CommandContext): Promise<void> {
  const text = `${JSON.stringify(Object.fromEntries(columns), undefined, 2)}\n`;
  await writeFile(resolve(context.cwd, file), text).catch((error: unknown) => {
    const fix = 'Check the path, and that you may write there.';
    throw new Failure('unavailable', `the map file ${file} cannot be written`, fix).causedBy(error);
  });
  await writeLine(context.stderr, `The map of the columns was saved to ${file}.`);
}
