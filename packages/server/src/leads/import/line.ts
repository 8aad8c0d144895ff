import type { LeadInput } from '../../store/records.ts';

/** Longer lines are refused unread, so that a file of any content is read in constant memory. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** A line of NDJSON, a row of CSV, or an item of a JSON array. */
export interface InputLine {
  /** The number of the line, or of the item, from 1. */
  readonly number: number;
  /** For an item: the line in which it begins. An array may stand on one line, so the items have numbers of their own. */
  readonly startLine?: number;
  /** Greater than `number` for a CSV row whose quoted cells contain line breaks. */
  readonly lastNumber: number;
  /** Without the line feed at its end. Absent when it is longer than `MAX_LINE_BYTES`. */
  readonly raw: Buffer | undefined;
}

/** What is wrong, and how to mend it, in a sentence that begins after the name of the field. */
export interface LineProblem {
  readonly field?: string;
  readonly issue: string;
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
export const unreadable = ({ number, lastNumber, startLine, raw }: InputLine, issue: string): ParsedLine => ({
  number,
  lastNumber,
  ...(startLine !== undefined && { startLine }),
  raw,
  reading: { kind: 'rejected', problems: [{ issue }] },
});
