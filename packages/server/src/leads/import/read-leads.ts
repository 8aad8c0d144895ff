import { readCsv } from './csv.ts';
import type { IntakeRules } from './fields.ts';
import { isJsonDocument, peek, refuseCsv, refuseForeignFormat } from './file-start.ts';
import { readJson } from './json.ts';
import type { ParsedLine } from './line.ts';
import { readNdjson } from './ndjson.ts';

export type LeadsFormat = 'ndjson' | 'csv';

export interface LeadsFile {
  readonly bytes: AsyncIterable<Buffer>;
  readonly format: LeadsFormat;
}

export interface ReadOptions {
  /** The first lines of the file, or the first items of a JSON array, that are left out. */
  readonly skipLines: number;
  /** Called with the header row of CSV as it stood. */
  readonly onHeader: (raw: Buffer) => void;
  /** Called before the first item when the file is a JSON array: items are counted, not lines. */
  readonly onItems: () => void;
}

/**
 * Reads leads in the format that was asked for. What was meant as NDJSON may be one JSON array, however it is laid out.
 * Throws `FileFormatError` or `HeaderError` before the first lead when the file cannot be used.
 */
export async function* readLeads(
  { bytes, format }: LeadsFile,
  rules: IntakeRules,
  { skipLines, onHeader, onItems }: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const file = await peek(bytes);
  refuseForeignFormat(file.start);
  if (format === 'csv') return yield* readCsv(file.bytes, rules, { skipLines, onHeader });
  refuseCsv(file.start);
  if (!isJsonDocument(file.start)) return yield* readNdjson(file.bytes, rules, { skipLines });
  onItems();
  yield* readJson(file.bytes, rules, { skipItems: skipLines });
}
