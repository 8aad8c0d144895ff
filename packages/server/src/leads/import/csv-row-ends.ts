const QUOTE = 0x22;
const COMMA = 0x2c;
const CARRIAGE_RETURN = 0x0d;

const startsCell = (line: Buffer, at: number): boolean => at === 0 || line[at - 1] === COMMA;

const endsCell = (line: Buffer, at: number): boolean =>
  at >= line.length || line[at] === COMMA || (line[at] === CARRIAGE_RETURN && at + 1 === line.length);

/** How a line leaves the row that it is part of. */
export type RowEnd =
  /** The row ends with the line. */
  | 'ended'
  /** The row goes on, because a quoted cell does. */
  | 'open'
  /** A quote stands where CSV cannot have one: inside a bare cell, or inside a quoted one without being doubled. */
  | 'misplaced';

/**
 * Finds whether a CSV row ends with this line. It tells no more than that; what the cells hold is csv-parse's to say.
 * Rows are found apart from their parsing because a parser that meets a broken row cannot give back its text and
 * its line numbers, nor go on behind it.
 */
export function rowEnd(line: Buffer, beginsQuoted: boolean): RowEnd {
  let isQuoted = beginsQuoted;
  for (let at = line.indexOf(QUOTE); at !== -1; at = line.indexOf(QUOTE, at + 1)) {
    if (isQuoted && line[at + 1] === QUOTE) {
      at += 1;
      continue;
    }
    if (isQuoted ? !endsCell(line, at + 1) : !startsCell(line, at)) return 'misplaced';
    isQuoted = !isQuoted;
  }
  return isQuoted ? 'open' : 'ended';
}
