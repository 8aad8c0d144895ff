import {
  HEADERS,
  LEAD_FIELDS,
  PROBLEM_CODES,
  PROBLEMS,
  type ProblemCode,
  testLeadFrom,
} from '@leadtap/contract';
import { toJson } from './source-text.ts';

/** Of requests that have a body. The console sends test leads, and subscribes webhooks. */
const STATUSES_OF_BODIES: readonly number[] = [409, 413, 415, 422];
const OF_ITS_BODIES: readonly ProblemCode[] = [
  'invalid-lead',
  'too-many-hooks',
  'invalid-hook',
  'hook-host-not-allowed',
];
const isShown = (code: ProblemCode): boolean =>
  OF_ITS_BODIES.includes(code) || !STATUSES_OF_BODIES.includes(PROBLEMS[code].status);

/** packages/console/src/contract-texts.json: the texts that the console shows, because the whole contract would double its size. */
export const consoleTexts = (): string =>
  toJson({
    testLead: testLeadFrom('the console of Leadtap'),
    fieldLabels: Object.fromEntries(LEAD_FIELDS.map(({ name, label }) => [name, label])),
  });

/** packages/console/src/loaded-texts.json: those that it loads when it needs them. */
export const loadedConsoleTexts = (): string =>
  toJson({
    titles: Object.fromEntries(PROBLEM_CODES.filter(isShown).map((code) => [code, PROBLEMS[code].title])),
    nextSteps: Object.fromEntries(
      PROBLEM_CODES.filter(isShown).map((code) => [code, PROBLEMS[code].integrator]),
    ),
    headers: Object.fromEntries(
      Object.entries(HEADERS).map(([name, { spelling, description }]) => [name, { spelling, description }]),
    ),
  });
