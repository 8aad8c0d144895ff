import { Writable } from 'node:stream';
import type { Output } from '../../src/cli/context.ts';

/** How a command ended, and what it printed. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Collects what is written. */
export function paper(isTTY = false): Output & { text(): string } {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return Object.assign(stream, { isTTY, text: () => chunks.join('') });
}
