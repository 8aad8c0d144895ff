import type { MoveStep } from '../../store/transfer/copy-context.ts';
import type { CommandContext } from '../context.ts';
import { ProgressBar } from '../progress-bar.ts';

const UNITS: Record<MoveStep, string> = {
  checking: 'leads checked',
  comparing: 'leads compared',
  copying: 'leads copied',
  verifying: 'leads verified',
};

/** A bar for each step, because each has its own pace. */
export class MoveProgress {
  readonly #context: CommandContext;
  #step: MoveStep | undefined;
  #bar: ProgressBar | undefined;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  readonly onProgress = (step: MoveStep, count: number, of: number): void => {
    if (this.#step !== step)
      this.#bar = new ProgressBar(this.#context.stderr, this.#context.clock, UNITS[step]);
    this.#step = step;
    this.#bar?.update({ count, ...(of > 0 && { share: Math.min(count / of, 1) }) });
  };

  clear(): void {
    this.#bar?.clear();
  }
}
