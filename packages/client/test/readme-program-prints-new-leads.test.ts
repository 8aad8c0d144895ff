import { poll } from '@leadtap/client';
import { expect, it } from 'vitest';
import { spawnLeadtap } from '../../server/test/harness/leadtap-process.ts';
import { folderWith, programOf, runIn } from './document-program.ts';

/** What `leadtap demo --json` prints before it goes on. */
async function startDemo(): Promise<{ baseUrl: string; token: string }> {
  const { lines } = spawnLeadtap(['demo', '--port', '0', '--json']);
  let text = '';
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    text += line.value;
    if (line.value === '}') break;
  }
  const { baseUrl, callers } = JSON.parse(text);
  return { baseUrl, token: callers[0].token };
}

it('in ten lines', () => {
  expect(programOf('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(10);
});

it('of the demo, as they arrive', async () => {
  const { baseUrl, token } = await startDemo();
  const since = new Date();
  const lines = runIn(folderWith(programOf('README.md')), { BASE_URL: baseUrl, TOKEN: token });
  const printed = [(await lines.next()).value, (await lines.next()).value];
  const { leads } = await poll({ baseUrl, token, since });
  const known = leads.map(({ createdAt, fullName }) => `${createdAt} ${fullName} `);
  const [first = -1, second] = printed.map((line) =>
    known.findIndex((lead) => String(line).startsWith(lead)),
  );
  // Leads that came after the program was started, one after the other.
  expect(first).toBeGreaterThanOrEqual(0);
  expect(second).toBe(first + 1);
});
