import { tmpdir } from 'node:os';
import process from 'node:process';
import type { Reporter, TestModule } from 'vitest/node';

/** Begins the run with its temporary folder and what is left out, and ends it with one plain line that any log reader understands, and with the same. */
export default class SummaryReporter implements Reporter {
  readonly #leftOut: string;

  constructor(leftOut: string) {
    this.#leftOut = leftOut;
  }

  onInit(): void {
    process.stdout.write(`Temporary folders are in ${tmpdir()}.\n${this.#leftOut}`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    // A file that does not load has no tests to count, and must not pass for a success.
    const broken = modules.filter(
      (module) => module.state() === 'failed' && module.errors().length > 0,
    ).length;
    const unfinished = modules.filter((module) => ['queued', 'pending'].includes(module.state()));
    for (const module of unfinished) process.stdout.write(`\n${describeUnfinished(module)}\n`);
    process.stdout.write(
      `\n${count('passed')} passed, ${count('failed') + broken + unfinished.length} failed, ${count('skipped')} skipped\n${this.#leftOut}`,
    );
  }
}

/** The process that ran the file has exited: the test that ran at that time is the first one without a result. */
function describeUnfinished(module: TestModule): string {
  const next = [...module.children.allTests()].find((test) => test.result().state === 'pending');
  return `${module.relativeModuleId} (${module.project.name}) did not finish${next ? ` at: ${next.fullName}` : ''}`;
}
