import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { escapeJson, UNPRINTABLE } from '../leads/field-readers.ts';
import { shortenId } from './short-ids.ts';

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Resolves when the stream has accepted the text, so that a slow reader slows the command instead of filling the memory. */
export function write(stream: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

export const writeLine = (stream: Output, line: string): Promise<void> => write(stream, `${line}\n`);

export const writeJson = (stream: Output, value: unknown): Promise<void> =>
  writeLine(stream, escapeJson(JSON.stringify(value, undefined, 2)));

/** Writes one JSON array page by page, one item per line. */
export async function writeJsonArray(stream: Output, pages: AsyncIterable<readonly object[]>): Promise<void> {
  let separator = '[\n  ';
  for await (const page of pages) {
    if (page.length === 0) continue;
    await write(stream, separator + page.map((item) => escapeJson(JSON.stringify(item))).join(',\n  '));
    separator = ',\n  ';
  }
  await writeLine(stream, separator.startsWith('[') ? '[]' : '\n]');
}

/** Stored text could control the terminal, or show another text than the stored one. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, '?');

export const formatLeadCount = (count: number): string => (count === 1 ? '1 lead' : `${count} leads`);

const GAP = '  ';
/** A column that is shortened keeps at least this many characters: those of a date. */
const MIN_COLUMN_WIDTH = 10;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A shorter time is an earlier one that `--since` accepts: `2026-03-02T09:30Z` or `2026-03-02`. */
function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  if (!TIME.test(text)) return `${text.slice(0, width - 1)}…`;
  return width < 17 ? text.slice(0, 10) : `${text.slice(0, 16)}Z`;
}

interface TableOptions {
  /** At a terminal, ids of tokens and webhook subscriptions in these columns are shortened. */
  readonly ids?: readonly string[];
  /** These columns lose text, the first one first, if the rows do not fit on a terminal. */
  readonly shortened?: readonly string[];
  /** These columns are left out, the first one first, if that does not suffice. */
  readonly optional?: readonly string[];
}

export const TABLE_HELP =
  'At a terminal, texts are shortened and columns are left out until the table fits. --json has everything.';

/** Columns are as wide as their longest cell so far, so that rows can be printed page by page. */
export class Table {
  readonly #stream: Output;
  readonly #widths: number[] = [];
  readonly #ids: readonly number[];
  readonly #shortened: readonly number[];
  readonly #optional: readonly number[];
  #headings: readonly string[] | undefined;
  /** Those that are shown. The first rows decide. */
  #columns: readonly number[] | undefined;

  constructor(
    stream: Output,
    headings: readonly string[],
    { ids = [], shortened = [], optional = [] }: TableOptions = {},
  ) {
    this.#stream = stream;
    this.#headings = headings;
    const indicesOf = (columns: readonly string[]) => columns.map((heading) => headings.indexOf(heading));
    this.#ids = stream.isTTY ? indicesOf(ids) : [];
    this.#shortened = indicesOf(shortened);
    this.#optional = indicesOf(optional);
  }

  async add(rows: readonly (readonly (string | null)[])[]): Promise<void> {
    if (rows.length === 0) return;
    const toText = (cell: string | null, column: number): string =>
      printable(this.#ids.includes(column) ? shortenId(cell ?? '-') : (cell ?? '-'));
    const cells = rows.map((row) => row.map(toText));
    const lines = this.#headings ? [[...this.#headings], ...cells] : cells;
    this.#headings = undefined;
    for (const line of lines)
      for (const [column, cell] of line.entries())
        this.#widths[column] = Math.max(this.#widths[column] ?? 0, cell.length);
    this.#columns ??= this.#chooseColumns();
    const columns = this.#columns;
    const { widths } = this.#fit(columns);
    const align = (line: readonly string[]): string =>
      columns
        .map((column) => shorten(line[column] ?? '', widths[column] ?? 0).padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd();
    await write(this.#stream, lines.map((line) => `${align(line)}\n`).join(''));
  }

  #chooseColumns(): readonly number[] {
    let columns = [...this.#widths.keys()];
    for (const column of this.#optional)
      if (this.#fit(columns).excess > 0) columns = columns.filter((other) => other !== column);
    return columns;
  }

  #fit(columns: readonly number[]): { widths: readonly number[]; excess: number } {
    const widths = [...this.#widths];
    const total = columns.reduce((sum, column) => sum + (widths[column] ?? 0) + GAP.length, -GAP.length);
    let excess = this.#stream.isTTY ? total - widthOf(this.#stream) : 0;
    for (const column of this.#shortened.filter((shortened) => columns.includes(shortened))) {
      const width = widths[column] ?? 0;
      const cut = Math.max(0, Math.min(excess, width - MIN_COLUMN_WIDTH));
      widths[column] = width - cut;
      excess -= cut;
    }
    return { widths, excess };
  }
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
