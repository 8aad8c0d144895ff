/** Runs test files in a copy of the repository, and says why they failed. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import type { Project } from '../../test/faults/fault.ts';

export interface TestRun {
  readonly files: readonly string[];
  readonly project: Project;
  /** A part of the names of the tests. */
  readonly test?: string | undefined;
  /** Stop at the first test that fails. */
  readonly stopsAtFailure: boolean;
}

export interface FileResult {
  readonly path: string;
  readonly passed: number;
  readonly failures: readonly Failure[];
}

export interface Failure {
  /** Empty: the file could not be loaded. */
  readonly test: string;
  /** With the name of the error. */
  readonly message: string;
  readonly isAssertion: boolean;
}

/** What vitest's JSON reporter writes. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Of vitest, and of `node:assert`. */
const ASSERTION = /^AssertionError\b/;
/** What `fresh-build.ts` prints. */
const NEEDS_BUILD = 'These tests use the build';
const MAX_OUTPUT = 20_000;

export class Owners {
  readonly #copy: string;
  readonly #signal: AbortSignal;
  /** Test files that use the build. */
  readonly #built = new Set<string>();

  constructor(copy: string, signal: AbortSignal) {
    this.#copy = copy;
    this.#signal = signal;
  }

  /** Builds the copy only if the tests use the build. Throws with the output of a program that fails. */
  async run(tests: TestRun): Promise<readonly FileResult[]> {
    if (tests.files.some((file) => this.#built.has(file))) await this.#build();
    let output = await this.#test(tests);
    if (output.includes(NEEDS_BUILD)) {
      const [file, ...others] = tests.files;
      if (file !== undefined && others.length === 0) this.#built.add(file);
      await this.#build();
      output = await this.#test(tests);
    }
    const report = this.#report;
    if (!existsSync(report)) throw new Error(`no report of vitest: ${output.trim()}`);
    const { testResults }: Report = JSON.parse(readFileSync(report, 'utf8'));
    return testResults.map((file) => this.#toResult(file));
  }

  get #report(): string {
    return join(this.#copy, 'report-of-vitest.json');
  }

  async #build(): Promise<void> {
    const { code, output } = await this.#spawn('npm', ['run', '--silent', 'build']);
    if (code !== 0) throw new Error(`the build failed: ${output.trim()}`);
  }

  async #test({ files, project, test, stopsAtFailure }: TestRun): Promise<string> {
    rmSync(this.#report, { force: true });
    const { output } = await this.#spawn(process.execPath, [
      ...['node_modules/vitest/vitest.mjs', 'run', '--project', project],
      ...['--reporter', 'json', '--outputFile', this.#report],
      ...(stopsAtFailure ? ['--bail', '1'] : []),
      ...(test === undefined ? [] : ['--testNamePattern', test.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')]),
      ...files,
    ]);
    return output;
  }

  #spawn(program: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const signal = this.#signal;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      let output = '';
      const child = spawn(program, args, {
        cwd: this.#copy,
        env: { ...process.env, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
        signal,
      });
      const collect = (chunk: Buffer) => {
        output = (output + chunk).slice(-MAX_OUTPUT);
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.on('error', (error) => {
        if (!signal.aborted) reject(error);
      });
      // After an abort as well: the copy is removed once nothing uses it.
      child.on('close', (code) => (signal.aborted ? reject(signal.reason) : resolve({ code, output })));
    });
  }

  #toResult({ name, message, assertionResults }: Report['testResults'][number]): FileResult {
    const failures = assertionResults.flatMap(({ fullName, failureMessages }) =>
      failureMessages.slice(0, 1).map((text) => toFailure(fullName, text)),
    );
    return {
      path: relative(this.#copy, name),
      passed: assertionResults.filter(({ status }) => status === 'passed').length,
      failures: failures.length === 0 && message !== '' ? [toFailure('', message)] : failures,
    };
  }
}

const toFailure = (test: string, message: string): Failure => ({
  ...{ test, message },
  isAssertion: test !== '' && ASSERTION.test(message),
});
