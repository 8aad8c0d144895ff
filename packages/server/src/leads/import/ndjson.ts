import { isUtf8 } from 'node:buffer';
import { isJsonObject } from '../../store/records.ts';
import { withoutByteOrderMark } from './byte-order-mark.ts';
import type { IntakeRules } from './fields.ts';
import { type LeadReader, leadReader } from './lead-reader.ts';
import { type InputLine, type LineProblem, NOT_UTF8, type ParsedLine, TOO_LONG, unreadable } from './line.ts';
import { isBlank, LineSplitter } from './line-splitter.ts';

const EXAMPLE = '{"companyId":"acme","firstName":"Ada"}';

const NOT_JSON = 'is not JSON';

/** The text is no JSON at all, as every line of a file in another format is. */
export const isNotJson = (problems: readonly LineProblem[]): boolean =>
  problems.some(({ field, issue }) => field === undefined && issue.startsWith(NOT_JSON));

function notJson(error: unknown): string {
  const [, position] = /position (\d+)/.exec(String(error)) ?? [];
  const where = position === undefined ? '' : ` (character ${Number(position) + 1})`;
  return `${NOT_JSON}${where}; write each lead as one object on one line, such as ${EXAMPLE}`;
}

/** Also for an item of a JSON array, which stands on a line of its own by then. */
export function parseLine(line: InputLine, read: LeadReader): ParsedLine {
  const { raw } = line;
  if (raw === undefined) return unreadable(line, TOO_LONG);
  if (!isUtf8(raw)) return unreadable(line, NOT_UTF8);
  try {
    const value: unknown = JSON.parse(raw.toString());
    if (isJsonObject(value)) return { ...line, reading: read(value) };
  } catch (error) {
    return unreadable(line, notJson(error));
  }
  return unreadable(
    line,
    `is JSON, but not an object; write each lead on a line of its own, such as ${EXAMPLE}`,
  );
}

/** Reads one lead a line, a chunk at a time. The first `skipLines` lines are counted and left out. */
export async function* readNdjson(
  bytes: AsyncIterable<Buffer>,
  rules: IntakeRules,
  { skipLines }: { readonly skipLines: number },
): AsyncGenerator<readonly ParsedLine[]> {
  const read = leadReader(rules);
  const splitter = new LineSplitter();
  const parsed = (lines: readonly InputLine[]) =>
    lines.filter((line) => line.number > skipLines && !isBlank(line)).map((line) => parseLine(line, read));
  for await (const chunk of withoutByteOrderMark(bytes)) yield parsed(splitter.push(chunk));
  yield parsed(splitter.end());
}
