import type { LeadInput } from 'leadtap';
import { readCsv } from '../../src/leads/import/csv.ts';
import type { ParsedLine } from '../../src/leads/import/line.ts';
import { readNdjson } from '../../src/leads/import/ndjson.ts';

export const NOW = Date.parse('2026-03-02T09:30:00.000Z');

export interface ReadingOptions {
  readonly historical?: boolean;
  readonly skipLines?: number;
  /** Where the bytes are cut into chunks. */
  readonly cuts?: readonly number[];
  readonly onHeader?: (raw: Buffer) => void;
}

async function* cut(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const edges = [0, ...cuts.map((edge) => edge % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [index, edge] of edges.slice(1).entries()) yield bytes.subarray(edges[index], edge);
}

async function gather(lines: AsyncIterable<readonly ParsedLine[]>): Promise<ParsedLine[]> {
  const all: ParsedLine[] = [];
  for await (const some of lines) all.push(...some);
  return all;
}

const rulesOf = ({ historical = false }: ReadingOptions) => ({ historical, clock: () => NOW });

export function ndjson(text: string | Buffer, options: ReadingOptions = {}): Promise<ParsedLine[]> {
  const { cuts = [], skipLines = 0 } = options;
  return gather(readNdjson(cut(Buffer.from(text), cuts), rulesOf(options), { skipLines }));
}

export function csv(text: string | Buffer, options: ReadingOptions = {}): Promise<ParsedLine[]> {
  const { cuts = [], skipLines = 0, onHeader = () => {} } = options;
  return gather(readCsv(cut(Buffer.from(text), cuts), rulesOf(options), { skipLines, onHeader }));
}

/** `field: mend` of each problem; nothing for a good line. */
export const problemsOf = ({ reading }: ParsedLine): string[] =>
  reading.kind === 'lead'
    ? []
    : reading.problems.map(({ field, issue }) => (field ? `${field}: ${issue}` : issue));

export function leadOf(line: ParsedLine | undefined): LeadInput {
  if (line?.reading.kind !== 'lead') throw new Error(`no lead: ${line && problemsOf(line).join('; ')}`);
  return line.reading.lead;
}

/** Each line as its number with its lead, or with what is wrong. */
export const outline = (lines: readonly ParsedLine[]) =>
  lines.map((line) => [line.number, line.reading.kind === 'lead' ? line.reading.lead : problemsOf(line)]);
