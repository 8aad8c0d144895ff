import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';
import { findOnPath, findProgram, type Program } from '../../../packages/testing/servers/find-program.ts';

const CHECK = fileURLToPath(new URL('../check.rb', import.meta.url));

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

/** Tests the connection and polls with the connector, as check.rb does. */
export const pollWithConnector = (
  { baseUrl, token }: Connection,
  since: string,
  closure?: string,
): Promise<Checked> =>
  new Promise((resolve) => {
    const argv = [CHECK, baseUrl, token, since, ...(closure === undefined ? [] : [closure])];
    execFile(ruby, argv, (failure, stdout, stderr) =>
      resolve({
        ids: stdout.split('\n').filter(Boolean),
        error: failure ? stderr.trim() : undefined,
        closure: failure ? '' : stderr.trim(),
      }),
    );
  });
