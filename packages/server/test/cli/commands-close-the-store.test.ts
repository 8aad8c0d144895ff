import { expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { makeWithStore } from '../../src/cli/with-store.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { paper } from './paper.ts';

/** Lends a store as the commands get theirs, and tells afterwards whether it still works. */
async function lend(use: () => Promise<string>) {
  const opened: Store[] = [];
  const context = {
    env: {},
    cwd: tempFolder(),
    stdin: process.stdin,
    stdout: paper(),
    stderr: paper(),
    clock: () => 0,
    signal: new AbortController().signal,
  };
  const open: typeof openStore = async (...parts) => {
    const store = await openStore(...parts);
    opened.push(store);
    return store;
  };
  const withStore = makeWithStore(context, { create: true, open });
  const outcome = await withStore(use).catch((error: Error) => error.message);
  const answers = await Promise.allSettled(opened.map((store) => store.status()));
  return { outcome, answers: answers.map(({ status }) => status) };
}

test('a store that was lent is closed afterwards', async () => {
  expect(await lend(async () => 'done')).toEqual({ outcome: 'done', answers: ['rejected'] });
});

test('also when the command fails', async () => {
  const lent = await lend(() => Promise.reject(new Error('no such user')));
  expect(lent).toEqual({ outcome: 'no such user', answers: ['rejected'] });
});
