import { styleText } from 'node:util';
import type { CommandContext, Output } from './context.ts';

/** Waits until the text is taken, so that a slow reader slows the command down instead of filling the memory. */
export function write(stream: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

export const writeLine = (stream: Output, line: string): Promise<void> => write(stream, `${line}\n`);

export const writeJson = (stream: Output, value: unknown): Promise<void> =>
  writeLine(stream, JSON.stringify(value, undefined, 2));

/** One JSON array, an item a line, written while the items are being read. */
export async function writeJsonArray(stream: Output, pages: AsyncIterable<readonly object[]>): Promise<void> {
  let before = '[\n  ';
  for await (const page of pages) {
    if (page.length === 0) continue;
    await write(stream, before + page.map((item) => JSON.stringify(item)).join(',\n  '));
    before = ',\n  ';
  }
  await writeLine(stream, before.startsWith('[') ? '[]' : '\n]');
}

const CONTROL = /\p{Cc}/gu;
const LONGEST_LINE = 80;

/** Columns as wide as their contents so far, so that rows can be added while they are being read. */
export class Table {
  readonly #stream: Output;
  readonly #widths: number[] = [];
  #headings: readonly string[] | undefined;

  constructor(stream: Output, headings: readonly string[]) {
    this.#stream = stream;
    this.#headings = headings;
  }

  /** Text of other people may hold the control codes of a terminal; they are not passed on to it. */
  async add(rows: readonly (readonly (string | null)[])[]): Promise<void> {
    if (rows.length === 0) return;
    const cells = rows.map((row) => row.map((cell) => (cell ?? '-').replace(CONTROL, '?')));
    const lines = this.#headings ? [[...this.#headings], ...cells] : cells;
    this.#headings = undefined;
    for (const line of lines) this.#widen(line);
    await write(this.#stream, lines.map((line) => `${this.#align(line)}\n`).join(''));
  }

  #widen(line: readonly string[]): void {
    for (const [column, cell] of line.entries())
      this.#widths[column] = Math.max(this.#widths[column] ?? 0, cell.length);
  }

  #align(cells: readonly string[]): string {
    return cells
      .map((cell, column) => cell.padEnd(this.#widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  }
}

export type Style = Parameters<typeof styleText>[0];

/** Colours only where a person looks on, and not when they asked for none. */
export const hasColours = (stream: Output, env: CommandContext['env']): boolean =>
  stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';

export const styled = (style: Style, text: string): string =>
  styleText(style, text, { validateStream: false });

/** Some terminals tell no width, some tell 0. */
export const widthOf = (stream: Output): number => stream.columns || LONGEST_LINE;
