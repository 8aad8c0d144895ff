import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const CLOSE = { headers: { connection: 'close' } };
const ENV = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

/** Starts the program in a folder. For coverage, Node writes the URL of every loaded script there when the process exits. */
const start = (argv: readonly string[], folder: string) =>
  spawnLeadtap(argv, { ...ENV, NODE_V8_COVERAGE: join(folder, 'scripts') }, folder);

function hasLoadedTypeBox(folder: string): boolean {
  const files = readdirSync(join(folder, 'scripts')).map((name) => join(folder, 'scripts', name));
  const coverages: Coverage[] = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
  const urls = coverages.flatMap(({ result }) => result.map(({ url }) => url));
  // Otherwise the scripts were not recorded.
  expect(urls.some((url) => url.endsWith('/contract/dist/index.js'))).toBe(true);
  return urls.some((url) => url.includes('/node_modules/typebox/'));
}

/** Runs `leadtap serve` until it has responded to a request for each path. */
async function serve(folder: string, statuses: Readonly<Record<string, number>>): Promise<void> {
  const { lines, child, ended } = start(['serve'], folder);
  let line: { msg: string; url: string };
  do {
    const { value, done } = await lines.next();
    if (done) throw new Error(`it ended: ${(await ended).stderr}`);
    line = JSON.parse(value);
  } while (line.msg !== 'serving new leads');
  for (const [path, status] of Object.entries(statuses))
    expect((await fetch(line.url + path, CLOSE)).status).toBe(status);
  // SIGTERM would wait 3 s for load balancers.
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
}

test('serve does not load it for polls, leads that come in and the documentation page', async () => {
  const folder = tempFolder();
  await serve(folder, { '/readyz': 200, '/automation/new-leads': 401, '/leads': 405, '/docs': 200 });
  expect(hasLoadedTypeBox(folder)).toBe(false);
});

test('serve loads it for /openapi.json', async () => {
  const folder = tempFolder();
  await serve(folder, { '/openapi.json': 200 });
  expect(hasLoadedTypeBox(folder)).toBe(true);
});

test('the commands for companies and users do not load it', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'organisation.json'), '{"companies":[{"id":"soleil","name":"Soleil Roofing"}]}');
  expect((await start(['migrate'], folder).ended).code).toBe(0);
  expect((await start(['org', 'export'], folder).ended).code).toBe(0);
  expect((await start(['user', 'list'], folder).ended).code).toBe(0);
  expect((await start(['org', 'apply', 'organisation.json'], folder).ended).code).toBe(0);
  expect(hasLoadedTypeBox(folder)).toBe(false);
});
