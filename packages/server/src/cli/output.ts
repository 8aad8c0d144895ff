import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { escapeJson, printable } from '../lib/escape.ts';
import { plural } from '../lib/formats.ts';
import { withInvocation } from './invocation.ts';

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Resolves when the stream has accepted the text, so that a slow reader slows the command instead of filling the memory. */
export function write(stream: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

export const writeLine = (stream: Output, line: string): Promise<void> => write(stream, `${line}\n`);

/** On standard error, with commands that can be pasted. */
export const writeHint = (context: { readonly stderr: Output; readonly invocation?: string }, text: string) =>
  writeLine(context.stderr, withInvocation(text, context));

export const writeJson = (stream: Output, value: unknown): Promise<void> =>
  writeLine(stream, escapeJson(JSON.stringify(value, undefined, 2)));

type Pages<Item> = AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>;

/** Writes one JSON array page by page, one item per line. */
export async function writeJsonArray<Item extends object>(
  stream: Output,
  pages: Pages<Item>,
  toJson: (item: Item) => object = (item) => item,
): Promise<void> {
  let separator = '[\n  ';
  for await (const page of pages) {
    if (page.length === 0) continue;
    const items = page.map((item) => escapeJson(JSON.stringify(toJson(item))));
    await write(stream, separator + items.join(',\n  '));
    separator = ',\n  ';
  }
  await writeLine(stream, separator.startsWith('[') ? '[]' : '\n]');
}

export const formatLeadCount = (count: number): string => plural(count, 'lead');

type Row = readonly (string | null)[];

interface ListFormat<Item> {
  /** Default: the item as it is. */
  readonly toJson?: (item: Item) => object;
  readonly headings: readonly string[];
  readonly toRow: (item: Item) => Row;
  /** Columns that are never shortened. Default: ID. */
  readonly whole?: readonly string[];
}

/** Prints a list page by page, as one JSON array or as a table. Returns the number of items. */
export async function printList<Item extends object>(
  { stdout, signal }: { readonly stdout: Output; readonly signal: AbortSignal },
  pages: Pages<Item>,
  asJson: true | undefined,
  { toJson, headings, toRow, whole }: ListFormat<Item>,
): Promise<number> {
  let count = 0;
  async function* counted() {
    for await (const page of pages) {
      signal.throwIfAborted();
      count += page.length;
      yield page;
    }
  }
  if (asJson) await writeJsonArray(stdout, counted(), toJson);
  else {
    const table = new Table(stdout, headings, whole);
    for await (const page of counted()) await table.add(page.map(toRow));
  }
  return count;
}

const GAP = '  ';
/** A column that is shortened keeps at least this many characters: those of PROFESSIONAL. */
const MIN_COLUMN_WIDTH = 12;

/** Columns are as wide as their longest cell so far, so that rows can be printed page by page. */
export class Table {
  readonly #stream: Output;
  readonly #headings: readonly string[];
  readonly #whole: readonly string[];
  readonly #widths: number[] = [];

  constructor(stream: Output, headings: readonly string[], whole: readonly string[] = ['ID']) {
    this.#stream = stream;
    this.#headings = headings;
    this.#whole = whole;
  }

  async add(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const cells = rows.map((row) => row.map((cell) => printable(cell ?? '-')));
    const lines = this.#widths.length === 0 ? [this.#headings, ...cells] : cells;
    for (const line of lines)
      for (const [column, cell] of line.entries())
        this.#widths[column] = Math.max(this.#widths[column] ?? 0, cell.length);
    const widths = this.#fit();
    const text = lines.map((line) => {
      const aligned = line.map((cell, column) => cut(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0));
      return this.#stream.isTTY
        ? cut(aligned.join(GAP).trimEnd(), widthOf(this.#stream))
        : aligned.join(GAP).trimEnd();
    });
    await write(this.#stream, `${text.join('\n')}\n`);
  }

  /** At a terminal, the widest columns lose text until the rows fit. */
  #fit(): number[] {
    const widths = [...this.#widths];
    if (!this.#stream.isTTY) return widths;
    const isWhole = (column: number) => this.#whole.includes(this.#headings[column] ?? '');
    let excess = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - widthOf(this.#stream);
    for (; excess > 0; excess -= 1) {
      const widest = Math.max(...widths.filter((_, column) => !isWhole(column)));
      if (widest <= MIN_COLUMN_WIDTH) break;
      widths[widths.findIndex((width, column) => width === widest && !isWhole(column))] = widest - 1;
    }
    return widths;
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A shorter time is an earlier one that `--since` accepts: `2026-03-02T09:30Z` or `2026-03-02`. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  if (!TIME.test(text)) return `${text.slice(0, width - 1)}…`;
  return width < 17 ? text.slice(0, 10) : `${text.slice(0, 16)}Z`;
}

export type Style = Parameters<typeof styleText>[0];

/** Colours are for terminals, unless the user turned them off. */
export const hasColours = (stream: Output, env: Readonly<Record<string, string | undefined>>): boolean =>
  stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';

export const styled = (style: Style, text: string): string =>
  styleText(style, text, { validateStream: false });

/** Rows such as `Endpoint  http://…`. A row without an address is left out. */
export function addressRows(
  rows: readonly (readonly [name: string, url: string | undefined])[],
  isColoured: boolean,
): string[] {
  const paint = (style: Style, text: string) => (isColoured ? styled(style, text) : text);
  return rows.flatMap(([name, url]) =>
    url ? [`  ${paint('dim', name.padEnd(10))} ${paint('cyan', toReachable(url))}`] : [],
  );
}

/** A browser cannot open the address that means all addresses of this machine. */
export const toReachable = (url: string): string =>
  url.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, 'http://localhost');

/** Some terminals report no width or 0. */
export const widthOf = (stream: Output): number => stream.columns || 80;
