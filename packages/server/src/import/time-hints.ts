/** The options with which times that are not ISO 8601 can be read. */

import type { DateFormatGuess } from '../leads/lead-times.ts';
import { quoteForShell } from '../lib/escape.ts';
import type { FileFacts } from './input-line.ts';

export interface TimeColumn {
  /** Of the column, or of the field. */
  readonly name: string;
  readonly formats: DateFormatGuess;
}

export interface TimeHintOptions {
  readonly facts: FileFacts;
  readonly timeZone?: string | undefined;
  /** Of this machine. */
  readonly localTimeZone?: string | undefined;
}

/** The options to add, and what to check in them. */
export interface TimeHints {
  readonly flags: readonly string[];
  readonly hints: readonly string[];
}

export function describeTimes(
  columns: readonly TimeColumn[],
  { facts, timeZone, localTimeZone = 'UTC' }: TimeHintOptions,
): TimeHints {
  // Excel writes semicolons where the comma is part of numbers, and there the day comes before the month.
  const likely = columns.map(({ formats }) => formats.likely(facts.separator === ';'));
  const formats = [...new Set(likely.flatMap(([first]) => first ?? []))];
  if (formats.length === 0) return { flags: [], hints: [] };
  const other = likely.find((found) => found.length > 1)?.[1];
  const isUtc = columns.every(({ name }) => /\butc\b/i.test(name));
  return {
    flags: [
      ...formats.map((format) => `--date-format ${quoteForShell(format)}`),
      ...(timeZone === undefined ? [`--time-zone ${isUtc ? 'UTC' : localTimeZone}`] : []),
    ],
    hints: [
      ...(other === undefined ? [] : [`If the day and the month are the other way round: ${other}.`]),
      ...(timeZone === undefined ? ['The time zone is that of this machine: name the one of the file.'] : []),
    ],
  };
}
