import type { LeadInput } from 'leadtap';
import { FileFacts, type ParsedLine, type ReadOptions } from '../../../src/import/input-line.ts';
import { type LeadsFormat, readLeads } from '../../../src/import/read-leads.ts';

export const NOW = Date.parse('2026-03-02T09:30:00.000Z');

export interface ReadingOptions extends Partial<Omit<ReadOptions, 'clock'>> {
  /** Where the bytes are cut into chunks. */
  readonly cuts?: readonly number[];
}

async function* cut(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const edges = [0, ...cuts.map((edge) => edge % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [index, edge] of edges.slice(1).entries()) yield bytes.subarray(edges[index], edge);
}

/** The lines of a stream of bytes, in the chunks in which the import gets them. */
export function readChunks(
  bytes: AsyncIterable<Buffer>,
  format: LeadsFormat,
  options: ReadingOptions = {},
): AsyncGenerator<readonly ParsedLine[]> {
  const { cuts: _, ...rest } = options;
  const facts = new FileFacts('leads.csv');
  return readLeads({ bytes, format }, { facts, historical: false, skipLines: 0, ...rest, clock: () => NOW });
}

async function readText(text: string | Buffer, format: LeadsFormat, options: ReadingOptions) {
  const all: ParsedLine[] = [];
  for await (const lines of readChunks(cut(Buffer.from(text), options.cuts ?? []), format, options))
    all.push(...lines);
  return all;
}

export const ndjson = (text: string | Buffer, options: ReadingOptions = {}): Promise<ParsedLine[]> =>
  readText(text, 'ndjson', options);

export const csv = (text: string | Buffer, options: ReadingOptions = {}): Promise<ParsedLine[]> =>
  readText(text, 'csv', options);

/** `field: detail` of each issue; empty for a valid line. */
export const issuesOf = ({ parsed }: ParsedLine): string[] =>
  (parsed.issues ?? []).map(({ field, detail }) => (field ? `${field}: ${detail}` : detail));

export function leadOf(line: ParsedLine | undefined): LeadInput {
  if (line?.parsed.lead === undefined) throw new Error(`no lead: ${line && issuesOf(line).join('; ')}`);
  return line.parsed.lead;
}

/** Each line as its number with its lead, or with its issues. */
export const outline = (lines: readonly ParsedLine[]) =>
  lines.map((line) => [line.number, line.parsed.lead ?? issuesOf(line)]);
