import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { startService } from '../../testing/harness/service.ts';
import { tempFolder } from '../../testing/harness/temp-folder.ts';

const PACKAGE = new URL('..', import.meta.url);
const LEADS = 40;
const LINES_A_LIFE = 7;

/** A program that writes each lead down, waits until it may go on, and then asks for the next one. */
const PROGRAM = `
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { newLeads } from '${new URL('dist/index.js', PACKAGE)}';
import { fileCheckpoint } from '${new URL('dist/file.js', PACKAGE)}';

const [baseUrl, token, file] = process.argv.slice(2);
const since = '2020-01-01T00:00:00.000Z';
const permissions = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for await (const { id } of newLeads({ baseUrl, token, since, checkpoint: fileCheckpoint(file) })) {
  writeSync(1, id + '\\n');
  await permissions.next();
}
`;

/**
 * Runs the program and kills it after some lines or with the last lead. Gives all that it wrote.
 *
 * @param mayGoOn whether it is killed while it saves that it took the lead, or before it was through with the lead
 */
async function life(argv: readonly string[], mayGoOn: boolean): Promise<number[]> {
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  // Written to when it is dead.
  child.stdin.on('error', () => undefined);
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  const lines: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(Number(line));
    const isLast = lines.length === LINES_A_LIFE || Number(line) === LEADS - 1;
    if (!isLast || mayGoOn) child.stdin.write('\n');
    if (isLast) child.kill('SIGKILL');
  }
  await closed;
  return lines;
}

it('with the lead that was in hand when it was killed, or with the one after it', async () => {
  const { url, token, add } = await startService();
  await add(...Array.from({ length: LEADS }, (_, n) => ({ id: String(n) })));
  const folder = tempFolder();
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  const argv = [join(folder, 'program.mjs'), url, await token('boss'), join(folder, 'leads.json')];

  let next = 0;
  let lives = 0;
  while (next < LEADS) {
    const lines = await life(argv, lives % 2 === 0);
    const [first = -1] = lines;
    expect([next - 1, next]).toContain(first);
    expect(lines).toEqual(lines.map((_, n) => first + n));
    next = first + lines.length;
    lives += 1;
  }
  expect(lives).toBeGreaterThanOrEqual(LEADS / (LINES_A_LIFE + 1));
});
