import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';
import { findOnPath, findProgram, type Program } from '../../../packages/testing/servers/find-program.ts';

const SERVE = fileURLToPath(new URL('serve-check.rb', import.meta.url));

const RUBY: Program = {
  name: 'Ruby',
  debian: 'ruby',
  homebrew: 'ruby',
  find: () => findOnPath('ruby'),
};

/** Found before the first test, because an installation takes longer than a test may. */
const ruby = findProgram(RUBY);

export interface Checked {
  readonly ids: readonly string[];
  /** What the connector reported, if it failed. */
  readonly error: string | undefined;
  /** What Workato keeps for the next poll; empty after an error. */
  readonly closure: string;
}

/** It ends with the process of the tests, when its standard input ends. */
const server = spawn(ruby, [SERVE], { stdio: ['pipe', 'pipe', 'inherit'] });
const responses = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
let last: Promise<unknown> = Promise.resolve();

interface Response {
  readonly stdout: string;
  readonly stderr: string;
  readonly isSuccess: boolean;
}

/** One at a time. */
function run(args: readonly string[]): Promise<Response> {
  const response = last.then(async () => {
    server.stdin.write(`${JSON.stringify(args)}\n`);
    const { value } = await responses.next();
    return JSON.parse(value) as Response;
  });
  last = response.catch(() => undefined);
  return response;
}

/** What check.rb prints, and how it failed. */
async function check(
  { baseUrl, token }: Connection,
  ...rest: readonly string[]
): Promise<{ stdout: string; stderr: string; error: string | undefined }> {
  const { stdout, stderr, isSuccess } = await run([baseUrl, token, ...rest]);
  return { stdout, stderr, error: isSuccess ? undefined : stderr.trim() };
}

/** Tests the connection and polls with the connector, as check.rb does. */
export async function pollWithConnector(
  connection: Connection,
  since: string,
  closure = 'null',
  trigger = 'new_lead',
): Promise<Checked> {
  const { stdout, stderr, error } = await check(connection, since, closure, trigger);
  return {
    ids: stdout.split('\n').filter(Boolean),
    error,
    closure: error === undefined ? stderr.trim() : '',
  };
}

/** Returns what Workato keeps to unsubscribe. */
export async function subscribeWithConnector(connection: Connection, url: string): Promise<string> {
  const { stdout, error } = await check(connection, '--subscribe', url);
  if (error !== undefined) throw new Error(error);
  return stdout.trim();
}

export async function unsubscribeWithConnector(connection: Connection, kept: string): Promise<void> {
  const { error } = await check(connection, '--unsubscribe', kept);
  if (error !== undefined) throw new Error(error);
}
