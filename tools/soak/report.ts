/** What a trial has counted and found: printed, and with `--report FILE` written with the commit and the command that repeats it. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { isNetworkFault } from '../../packages/testing/delivery-trial/actors/network-faults.ts';
import type { Verdict } from '../../packages/testing/delivery-trial/judge/judge.ts';
import type { Trial } from '../../packages/testing/delivery-trial/trial.ts';
import type { SoakOptions } from './options.ts';

/** What a trial has counted, and every defect that it has found. */
export interface TrialResult {
  readonly figures: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  /** A sentence for each defect, by kind. */
  readonly findings: Readonly<Record<string, readonly string[]>>;
}

export const hasPassed = ({ findings }: TrialResult): boolean =>
  Object.values(findings).every(({ length }) => length === 0);

/** Whether a deliberate defect was found. On a slow machine, requests are also refused without one. */
export const hasFoundDefect = ({ findings }: TrialResult): boolean =>
  Object.entries(findings).some(([kind, { length }]) => kind !== 'refused' && length > 0);

/** As the actors count them. */
const FAULTS: ReadonlySet<string> = new Set([
  ...['clock steps', 'columns added and dropped', 'companies deleted and made again', 'connections cut'],
  ...['imports killed', 'instance crashes', 'server crashes'],
]);

export function resultOf({ recorder }: Trial, verdict: Verdict) {
  const { lost, doubled, stale, missing, broken, complaints } = verdict;
  const counted = [...recorder.counts].sort();
  const isFault = ([name]: readonly [string, number]) => FAULTS.has(name) || isNetworkFault(name);
  return {
    figures: {
      ...{ leads: verdict.leads, polls: recorder.pages },
      ...Object.fromEntries(counted.filter((entry) => !isFault(entry))),
    },
    faults: Object.fromEntries(counted.filter(isFault)),
    findings: { lost, doubled, stale, missing, broken, refused: complaints },
  };
}

const MAX_SENTENCES = 10;
const LABEL_WIDTH = 60;

export function describeResult({ figures, faults, findings }: TrialResult): string {
  const row = (label: string, count: number) =>
    `  ${label.padEnd(LABEL_WIDTH)}${count.toLocaleString('en').padStart(12)}`;
  return [
    ...Object.entries({ ...figures, ...faults }).map(([name, count]) => row(name, count)),
    '',
    ...Object.entries(findings).flatMap(([kind, sentences]) => [
      row(kind, sentences.length),
      ...sentences.slice(0, MAX_SENTENCES).map((sentence) => `      ${sentence}`),
    ]),
  ].join('\n');
}

/** One run of a trial, with or without a deliberate defect. */
export interface Run {
  readonly mutation: string | undefined;
  readonly result: TrialResult;
}

export interface Source {
  readonly commit: string | null;
  /** Whether files differ from the commit. */
  readonly hasLocalChanges: boolean;
}

interface ReportInput {
  readonly args: readonly string[];
  readonly options: Pick<SoakOptions, 'store' | 'seed' | 'instances'>;
  readonly source: Source;
  readonly startedAt: Date;
  /** The first one is that of the figures. */
  readonly runs: readonly Run[];
  /** Undefined while the trial runs. */
  readonly passed?: boolean;
}

function makeReport({ args, options, source, startedAt, runs, passed }: ReportInput) {
  const { figures = {}, faults = {}, findings = {} } = runs[0]?.result ?? {};
  const describe = (sentences: readonly string[]) => ({
    count: sentences.length,
    first: sentences.slice(0, MAX_SENTENCES),
  });
  const { store, seed, instances } = options;
  return {
    verdict: passed === undefined ? 'not finished' : passed ? 'passed' : 'failed',
    command: ['npm run soak --', ...args].join(' '),
    ...source,
    startedAt: startedAt.toISOString(),
    node: process.version,
    ...{ store, seed, instances },
    figures,
    faults,
    findings: Object.fromEntries(
      Object.entries(findings).map(([kind, sentences]) => [kind, describe(sentences)]),
    ),
    mutations: Object.fromEntries(
      runs.flatMap(({ mutation, result }) =>
        mutation === undefined ? [] : [[mutation, hasFoundDefect(result) ? 'found' : 'not found']],
      ),
    ),
  };
}

export const writeReport = (file: string, input: ReportInput): void =>
  writeFileSync(file, `${JSON.stringify(makeReport(input), undefined, 2)}\n`);

/** Of the working directory. A copy without Git has no commit. */
export function readSource(): Source {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return {
      commit: git('rev-parse', 'HEAD'),
      hasLocalChanges: git('status', '--porcelain', '--untracked-files=no') !== '',
    };
  } catch {
    return { commit: null, hasLocalChanges: false };
  }
}
