import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { confirm, isInteractive } from '../../src/cli/confirm.ts';
import { captureStream } from './capture-stream.ts';

function contextOf(stdin: Readable, signal = new AbortController().signal) {
  const stdout = captureStream();
  const stderr = captureStream(true);
  return { env: {}, cwd: '/', stdin, stdout, stderr, clock: () => 0, signal };
}

test.each([
  ['y\n', true],
  ['Yes\r\n', true],
  ['n\n', false],
  ['yesterday\n', false],
  ['no\ny\n', false],
])('%j is %s', async (typed, isYes) => {
  const context = contextOf(Readable.from([typed]));
  expect(await confirm('Sure?', context)).toBe(isYes);
  expect(context.stderr.text()).toBe('Sure? [y/N] ');
});

test('the end of the input is a no, and ends the line of the question', async () => {
  const context = contextOf(Readable.from([]));
  expect(await confirm('Sure?', context)).toBe(false);
  expect(context.stderr.text()).toBe('Sure? [y/N] \n');
});

test('an abort ends the question with its reason', async () => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  const stdin = new Readable({ read: () => stop.abort(reason) });
  await expect(confirm('Sure?', contextOf(stdin, stop.signal))).rejects.toBe(reason);
});

test.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
  [undefined, true, false],
])('input %s, messages %s: interactive is %s', (input, output, expected) => {
  const stdin = Object.assign(Readable.from([]), input === undefined ? {} : { isTTY: input });
  expect(isInteractive({ ...contextOf(stdin), stderr: captureStream(output) })).toBe(expected);
});
