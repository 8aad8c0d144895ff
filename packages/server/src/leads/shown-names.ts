/** Names of fields as they may be shown: a body in the wrong format has values in their place. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { CUSTOM_FIELD_PREFIX } from './parse-lead.ts';

/** Stands for each name that may be a value. */
export const OTHER_NAME = 'other';

const MAX_NAMES = 20;
const PLAIN = /^[\p{Script=Latin}\d_.-]{1,40}$/u;
/** Also `06.12.34`: no name has it. */
const LONG_NUMBER = /(?:\d[\s._/()-]{0,3}){4}/;
const MAX_QUESTION_LENGTH = 100;

const KNOWN: ReadonlySet<string> = new Set(IMPORT_FIELDS.map(({ name }) => name));

const isPlain = (name: string): boolean => PLAIN.test(name) && !LONG_NUMBER.test(name);

const isShown = (name: string): boolean =>
  KNOWN.has(name) ||
  isPlain(name.startsWith(CUSTOM_FIELD_PREFIX) ? name.slice(CUSTOM_FIELD_PREFIX.length) : name);

const shownName = (name: string): string => (isShown(name) ? name : OTHER_NAME);

/** At most 20, each once. */
function collect(names: Iterable<string | null>, show: (name: string) => string): readonly string[] {
  const shown = new Set<string>();
  for (const name of names) {
    if (name !== null) shown.add(show(name));
    if (shown.size === MAX_NAMES) break;
  }
  return [...shown];
}

/** In the log, in alerts, and for users. Names that may be values are `other`. */
export const shownNames = (names: Iterable<string | null>): readonly string[] => collect(names, shownName);

/** For the operator alone: the questions of a form service are sentences. Those with an address or a number are `other`. */
export const shownQuestions = (questions: Iterable<string | null>): readonly string[] =>
  collect(questions, (question) =>
    question.includes('@') || LONG_NUMBER.test(question)
      ? OTHER_NAME
      : question.slice(0, MAX_QUESTION_LENGTH),
  );
