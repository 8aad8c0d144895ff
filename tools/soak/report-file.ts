/** `--report FILE`: what ran, on which commit, with which result, and the command that repeats it. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import type { SoakOptions } from './options.ts';
import { hasFoundDefect, type TrialResult } from './result.ts';

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

const MAX_SENTENCES = 10;

export function makeReport({ args, options, source, startedAt, runs, passed }: ReportInput) {
  const { figures = {}, faults = {}, findings = {} } = runs[0]?.result ?? {};
  const describe = (sentences: readonly string[]) => ({
    count: sentences.length,
    first: sentences.slice(0, MAX_SENTENCES),
  });
  const { store, seed, instances } = options;
  return {
    verdict: passed === undefined ? 'not finished' : passed ? 'passed' : 'failed',
    command: ['npm run soak --', ...args.map(quote)].join(' '),
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

const quote = (text: string): string =>
  /^[\w./,:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

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
