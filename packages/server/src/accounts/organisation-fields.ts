/** The checks of single values: those of the organisation file are also those of the options of `user add` and `user set`. */
import type { AccessLevel } from './records.ts';

export const ACCESS_LEVELS = ['COMPANY', 'BRANCH', 'DEPARTMENT'] as const satisfies readonly AccessLevel[];

const MAX_TEXT_LENGTH = 200;
const MAX_EMAIL_LENGTH = 320;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const COLOR = /^#[0-9a-f]{6}$/i;
const UPPER_CASE_WORD = /^[A-Z][A-Z0-9_]{0,63}$/;
/** Control characters, line separators, and single surrogates, which a database cannot store. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;

/** The mistake in a value, to follow its name; undefined if it is right. */
export type FindProblem = (text: string) => string | undefined;

export const findTextProblem = (text: string, maxLength: number = MAX_TEXT_LENGTH): string | undefined => {
  if (text.trim() === '') return 'must not be empty';
  if (text.length > maxLength) return `must have at most ${maxLength} characters, not ${text.length}`;
  return UNPRINTABLE.test(text) ? 'must not hold control or broken characters' : undefined;
};

export const findEmailProblem: FindProblem = (text) => {
  const problem = findTextProblem(text, MAX_EMAIL_LENGTH);
  if (problem !== undefined || EMAIL.test(text)) return problem;
  return `must be an e-mail address, such as ada@example.com, not ${JSON.stringify(text)}`;
};

const requirePattern =
  (pattern: RegExp, example: string): FindProblem =>
  (text) =>
    pattern.test(text) ? undefined : `must be ${example}`;

export const findPlanProblem = requirePattern(UPPER_CASE_WORD, 'an upper-case word, such as PROFESSIONAL');
export const findStatusProblem = requirePattern(UPPER_CASE_WORD, 'an upper-case word, such as NEW');
export const findColorProblem = requirePattern(COLOR, 'a colour, such as #2563eb');
