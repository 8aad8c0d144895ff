import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { makeTestDatabase, type TestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import type { CommandContext } from '../../src/cli/context.ts';
import { main } from '../../src/cli/main.ts';
import { captureStream, type Ran } from './capture-stream.ts';

export type { Ran } from './capture-stream.ts';

export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Record<string, string>;
  /** The output is a terminal. */
  readonly isTTY?: boolean;
  readonly parts?: Partial<CommandContext>;
}

export const NOW = Date.UTC(2026, 2, 2, 9, 30, 0, 250);

export interface TerminalOptions {
  /** The database has no schema yet. */
  readonly empty?: boolean;
}

/** Runs commands in this process, with a folder, a database and a fixed clock for each test. */
export function terminal(options: TerminalOptions = {}) {
  const cwd = tempFolder();
  const path = (name: string) => join(cwd, name);
  let made: Promise<TestDatabase> | undefined;
  const database = () => {
    made ??= makeDatabase(path('data'), options);
    return made;
  };
  const save = (name: string, content: unknown) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), typeof content === 'string' ? content : JSON.stringify(content));
  };
  const run = async (command: string | readonly string[], options: RunOptions = {}): Promise<Ran> => {
    const stdout = captureStream(options.isTTY);
    const stderr = captureStream(options.isTTY);
    const argv = typeof command === 'string' ? wordsOf(command) : command;
    const code = await main(argv, {
      env: options.env?.['LEADTAP_DATABASE_URL']
        ? options.env
        : { ...(await database()).env, ...options.env },
      cwd,
      stdin: Readable.from([options.stdin ?? '']),
      stdout,
      stderr,
      clock: () => NOW,
      signal: new AbortController().signal,
      storeTimeouts: LONG_STORE_TIMEOUTS,
      ...options.parts,
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  };
  return { cwd, path, save, run, database };
}

async function makeDatabase(folder: string, { empty = false }: TerminalOptions): Promise<TestDatabase> {
  const database = await makeTestDatabase(onTestFinished, { folder, empty });
  if (!empty) await database.stopClock(NOW);
  return database;
}

/** The same, with two companies and their users in place. */
export async function terminalWithUsers() {
  const shell = terminal();
  shell.save('organisation.json', ORGANISATION);
  await shell.run('org apply organisation.json');
  return shell;
}

/** As a shell splits them, with single quotes alone. */
const wordsOf = (command: string): string[] =>
  (command.match(/'[^']*'|[^ ]+/g) ?? []).map((word) => word.replace(/^'(.*)'$/s, '$1'));
