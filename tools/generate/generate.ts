/** Writes the generated files; with `--check`, fails when one of them is stale and writes nothing. */
import { readFile, writeFile } from 'node:fs/promises';
import { generatedFiles } from './generated-files.ts';

const root = new URL('../../../../../', import.meta.url);
const check = process.argv.includes('--check');
let stale = false;

for (const { path, text } of await generatedFiles(root)) {
  const file = new URL(path, root);
  if ((await readFile(file, 'utf8').catch(() => '')) === text) continue;
  stale = true;
  if (check) process.stderr.write(`${path} is stale. Run \`npm run generate\` and commit it.\n`);
  else await writeFile(file, text).then(() => process.stdout.write(`wrote ${path}\n`));
}

if (check && stale) process.exitCode = 1;
