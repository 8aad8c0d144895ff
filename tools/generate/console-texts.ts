import { HEADERS, LEAD_FIELDS, PROBLEM_CODES, PROBLEMS } from '@leadtap/contract';
import { toJson } from './source-text.ts';

/** packages/console/src/contract-texts.json: the texts that the console shows, because the whole contract would double its size. */
export const consoleTexts = (): string =>
  toJson({
    problems: Object.fromEntries(
      PROBLEM_CODES.map((code) => [
        code,
        { title: PROBLEMS[code].title, nextStep: PROBLEMS[code].integrator },
      ]),
    ),
    headers: Object.fromEntries(
      Object.entries(HEADERS).map(([name, { spelling, description }]) => [name, { spelling, description }]),
    ),
    fieldLabels: Object.fromEntries(LEAD_FIELDS.map(({ name, label }) => [name, label])),
  });
