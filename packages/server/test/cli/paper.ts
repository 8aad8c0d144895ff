import { Writable } from 'node:stream';
import type { Output } from '../../src/cli/context.ts';

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
