/** Reads leads from NDJSON, and from a JSON document: an array of leads, or one lead. */

import { InvalidValue } from '../leads/field-readers.ts';
import { parseLead, withCompany } from '../leads/parse-lead.ts';
import { isJsonObject } from '../lib/json.ts';
import { LineDecoder } from './encoding.ts';
import {
  type InputLine,
  isBlankLine,
  LineSplitter,
  type ParsedLine,
  type ReadOptions,
  rejectLine,
  UnusableFileError,
} from './input-line.ts';

const EXAMPLE = '{"companyId":"acme","firstName":"Ada"}';
const NOT_AN_OBJECT = `is JSON, but not an object; write each lead on a line of its own, such as ${EXAMPLE}`;

function parseValue(line: InputLine, value: unknown, options: ReadOptions): ParsedLine {
  if (!isJsonObject(value)) return rejectLine(line, NOT_AN_OBJECT);
  const { number, lastNumber, raw } = line;
  return { number, lastNumber, raw, parsed: parseLead(withCompany(value, options.companyId), options) };
}

const positionOf = (error: unknown): number | undefined => {
  const [, position] = /position (\d+)/.exec(String(error)) ?? [];
  return position === undefined ? undefined : Number(position);
};

function parseLine(line: InputLine, decoder: LineDecoder, options: ReadOptions): ParsedLine {
  const text = decoder.decode(line);
  if (text instanceof InvalidValue) return rejectLine(line, text.detail);
  try {
    return parseValue(line, JSON.parse(text), options);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const position = positionOf(error);
    const where = position === undefined ? '' : ` (character ${position + 1})`;
    return rejectLine(
      line,
      `is not JSON${where}; write each lead as one object on one line, such as ${EXAMPLE}`,
    );
  }
}

/** Reads one lead per line, a chunk at a time. */
export async function* readNdjson(
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  const decoder = createDecoder(options);
  const splitter = new LineSplitter();
  const parse = (lines: readonly InputLine[]) =>
    lines
      .filter((line) => line.number > options.skipLines && !isBlankLine(line))
      .map((line) => parseLine(line, decoder, options));
  for await (const chunk of bytes) yield parse(splitter.push(chunk));
  yield parse(splitter.end());
}

/** JSON is UTF-8 by its definition, so nothing else is recognised. */
const createDecoder = (options: ReadOptions): LineDecoder =>
  new LineDecoder({ ...options, encoding: options.encoding ?? 'utf-8' });

/** A document is read as a whole. Larger ones are refused, because they would need gigabytes of memory. */
const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024;
const AS_NDJSON = "Write one object per line, for example with: jq -c '.[]' FILE > leads.ndjson";
const ITEMS_AT_ONCE = 1000;

/** Reads one lead per item of an array, or one object. Throws `UnusableFileError` if the whole document is not JSON. */
export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  options: ReadOptions,
): AsyncGenerator<readonly ParsedLine[]> {
  options.facts.unit = 'item';
  const document = parseDocument(createDecoder(options).decode(await readDocument(bytes)));
  const items: readonly unknown[] = Array.isArray(document) ? document : [document];
  for (let start = options.skipLines; start < items.length; start += ITEMS_AT_ONCE)
    yield items.slice(start, start + ITEMS_AT_ONCE).map((item, index) => {
      const number = start + index + 1;
      const raw = Buffer.from(JSON.stringify(item));
      return parseValue({ number, lastNumber: number, raw }, item, options);
    });
}

async function readDocument(bytes: AsyncIterable<Buffer>): Promise<InputLine> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_DOCUMENT_BYTES)
      throw new UnusableFileError('is a JSON document of more than 256 MiB', AS_NDJSON);
  }
  return { number: 1, lastNumber: 1, raw: Buffer.concat(chunks) };
}

function parseDocument(text: string | InvalidValue): unknown {
  if (text instanceof InvalidValue) throw new UnusableFileError(text.detail);
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = positionOf(error) ?? text.length;
    const line = text.slice(0, position).split('\n').length;
    throw new UnusableFileError(
      `is not JSON (line ${line})`,
      'Write an array of leads or one lead; or NDJSON, with one object per line.',
    );
  }
}
