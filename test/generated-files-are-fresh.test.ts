import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { generatedFiles } from '../tools/generate/generated-files.ts';

const root = new URL('../', import.meta.url);
const files = await generatedFiles(root);

test.each(files)('$path is what the code makes of it', async ({ path, text }) => {
  expect(await readFile(new URL(path, root), 'utf8')).toBe(text);
});
