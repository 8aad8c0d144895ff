import { poll } from '@leadtap/client';
import { expect, it } from 'vitest';
import { spawnLeadtap } from '../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../testing/harness/temp-folder.ts';
import { folderWith, programOf, runIn } from './document-program.ts';

/** What `leadtap demo --json` prints before it goes on. */
async function startDemo(): Promise<{ baseUrl: string; token: string }> {
  const { lines } = spawnLeadtap(['demo', '--port', '0', '--json'], { TMPDIR: tempFolder() });
  let text = '';
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    text += line.value;
    if (line.value === '}') break;
  }
  const { baseUrl, callers } = JSON.parse(text);
  return { baseUrl, token: callers[0].token };
}

const INTERVAL = 'intervalMs: 5_000';

it('of the demo, as they arrive', async () => {
  const { baseUrl, token } = await startDemo();
  const since = new Date();
  const program = programOf('examples/watch.mjs');
  expect(program).toContain(INTERVAL);
  const lines = runIn(folderWith(program.replace(INTERVAL, 'intervalMs: 100')), {
    LEADTAP_URL: baseUrl,
    LEADTAP_TOKEN: token,
  });
  const { value: printed } = await lines.next();
  const { leads } = await poll({ baseUrl, token, since });
  const known = leads.map(({ createdAt, fullName }) => `${createdAt} ${fullName} `);
  // A lead that came after the program was started. That the next ones follow is shown where no demo is waited for.
  expect(known.some((lead) => String(printed).startsWith(lead))).toBe(true);
});
