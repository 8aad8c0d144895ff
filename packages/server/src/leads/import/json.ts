import { isJsonObject } from '../../store/records.ts';
import { InvalidValue } from './field-readers.ts';
import {
  decodeLine,
  type InputLine,
  isBlank,
  LineSplitter,
  type ParsedLine,
  rejectLine,
  type Splitter,
} from './input-line.ts';
import { JsonItemSplitter } from './json-items.ts';
import { type ParseOptions, parseLead, type ValidationIssue } from './parse-lead.ts';

const EXAMPLE = '{"companyId":"acme","firstName":"Ada"}';
const NOT_JSON = 'is not JSON';
const NOT_AN_OBJECT = `is JSON, but not an object; write each lead on a line of its own, such as ${EXAMPLE}`;
const CUT_OFF = 'the array has no closing ]; the file may have been cut off';

/** The line is not JSON at all, as every line of a file in another format. */
export const isNotJson = (issues: readonly ValidationIssue[]): boolean =>
  issues.some(({ field, detail }) => field === undefined && detail.startsWith(NOT_JSON));

function describeSyntaxError(error: unknown): string {
  const [, position] = /position (\d+)/.exec(String(error)) ?? [];
  const where = position === undefined ? '' : ` (character ${Number(position) + 1})`;
  return `${NOT_JSON}${where}; write each lead as one object on one line, such as ${EXAMPLE}`;
}

function parseJsonLine(line: InputLine, options: ParseOptions): ParsedLine {
  const text = decodeLine(line);
  if (text instanceof InvalidValue) return rejectLine(line, text.detail);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return rejectLine(line, describeSyntaxError(error));
  }
  if (!isJsonObject(value)) return rejectLine(line, NOT_AN_OBJECT);
  return { ...line, parsed: parseLead(value, options) };
}

export interface JsonOptions extends ParseOptions {
  /** The first lines or items, which are counted and left out. */
  readonly skipLines: number;
}

async function* readWith(
  splitter: Splitter,
  bytes: AsyncIterable<Buffer>,
  options: JsonOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const parse = (lines: readonly InputLine[]) =>
    lines
      .filter((line) => line.number > options.skipLines && !isBlank(line))
      .map((line) => parseJsonLine(line, options));
  for await (const chunk of bytes) yield parse(splitter.push(chunk));
  yield parse(splitter.end());
}

/** Reads one lead per line, a chunk at a time. */
export const readNdjson = (
  bytes: AsyncIterable<Buffer>,
  options: JsonOptions,
): AsyncGenerator<readonly ParsedLine[]> => readWith(new LineSplitter(), bytes, options);

/** Reads one lead per item of an array, or from objects one after the other, a chunk at a time. */
export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  options: JsonOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const splitter = new JsonItemSplitter();
  yield* readWith(splitter, bytes, options);
  const startLine = splitter.unclosedAtLine;
  if (startLine === undefined) return;
  const number = splitter.count + 1;
  yield [rejectLine({ number, lastNumber: number, startLine, raw: undefined }, CUT_OFF)];
}
