import type { LeadInput } from '../../store/records.ts';

/** Longer lines are refused unread, so that a file of any content is read in constant memory. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** A line of NDJSON or a row of CSV, as it stood in the file. */
export interface InputLine {
  /** Its number in the file, from 1. */
  readonly number: number;
  /** Greater than `number` for a CSV row whose quoted cells contain line breaks. */
  readonly lastNumber: number;
  /** Without the line feed at its end. Absent when it is longer than `MAX_LINE_BYTES`. */
  readonly raw: Buffer | undefined;
}

/** What is wrong, and how to mend it, in a sentence that begins after the name of the field. */
export interface LineProblem {
  readonly field?: string;
  readonly mend: string;
}

export type LeadReading =
  | { readonly kind: 'lead'; readonly lead: LeadInput }
  | {
      readonly kind: 'rejected';
      readonly problems: readonly LineProblem[];
      /** The parts of the lead that could be read, where its company is one of them. */
      readonly lead?: LeadInput;
    };

export interface ParsedLine extends InputLine {
  readonly reading: LeadReading;
}

export const TOO_LONG = `is longer than ${MAX_LINE_BYTES.toLocaleString('en')} bytes; shorten it (a rejects file leaves it out)`;
export const NOT_UTF8 = 'contains bytes that are not UTF-8; save the file as UTF-8';

/** A line that is wrong as a whole. */
export const unreadable = (line: InputLine, mend: string): ParsedLine => ({
  number: line.number,
  lastNumber: line.lastNumber,
  raw: line.raw,
  reading: { kind: 'rejected', problems: [{ mend }] },
});
