import { withoutByteOrderMark } from './byte-order-mark.ts';
import type { IntakeRules } from './fields.ts';
import { JsonItemSplitter } from './json-items.ts';
import { leadReader } from './lead-reader.ts';
import { type InputLine, type ParsedLine, unreadable } from './line.ts';
import { parseLine } from './ndjson.ts';

const CUT_OFF = 'is where the array ends without a closing ]; the file may have been cut off';

/** Reads one lead an item, a chunk at a time, from an array or from objects one after the other. */
export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  rules: IntakeRules,
  { skipItems }: { readonly skipItems: number },
): AsyncGenerator<readonly ParsedLine[]> {
  const read = leadReader(rules);
  const splitter = new JsonItemSplitter();
  const parsed = (items: readonly InputLine[]) =>
    items.filter(({ number }) => number > skipItems).map((item) => parseLine(item, read));
  for await (const chunk of withoutByteOrderMark(bytes)) yield parsed(splitter.push(chunk));
  yield parsed(splitter.end());
  const startLine = splitter.unclosedAtLine;
  if (startLine === undefined) return;
  const number = splitter.count + 1;
  yield [unreadable({ number, lastNumber: number, startLine, raw: undefined }, CUT_OFF)];
}
