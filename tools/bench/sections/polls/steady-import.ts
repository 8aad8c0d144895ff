import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { leadLine } from '../../made-up/leads.ts';
import type { Bench } from '../../section.ts';
import { type Home, run } from '../../service/leadtap.ts';

/** A hundred leads, five times a second: the import commits whenever its input falls silent for a tenth of a second. */
const LEADS = 100;
const EVERY_MS = 200;

/** `leadtap leads import -`, which reads from a pipe what another program might write. */
export class SteadyImport {
  readonly #home: Home;
  readonly #companies: number;
  #process: ChildProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sent = 0;

  constructor(bench: Bench, home: Home, companies: number) {
    this.#home = home;
    this.#companies = companies;
    bench.cleanup.own(this);
  }

  start(): void {
    this.#process ??= run(this.#home, ['leads', 'import', '-'], 'ignore');
    this.#timer ??= setInterval(() => this.#feed(), EVERY_MS);
  }

  pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async stop(): Promise<void> {
    this.pause();
    const child = this.#process;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.stdin?.end();
    await ended;
  }

  #feed(): void {
    const lines = Array.from({ length: LEADS }, () => `${leadLine(this.#sent++, this.#companies)}\n`);
    this.#process?.stdin?.write(lines.join(''));
  }
}
