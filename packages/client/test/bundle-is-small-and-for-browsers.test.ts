import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rollup } from 'vite';
import { expect, it } from 'vitest';
import { tempFolder } from '../../testing/harness/temp-folder.ts';

const SOURCE = fileURLToPath(new URL('../src/index.ts', import.meta.url));
const LIMIT_BYTES = 6_500;

/** All of the client as a bundler makes it for browsers, whatever of it is used. */
async function bundle(): Promise<string> {
  const root = tempFolder();
  writeFileSync(join(root, 'entry.js'), `export * from ${JSON.stringify(SOURCE)};\n`);
  const output = await build({
    root,
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      minify: 'esbuild',
      modulePreload: false,
      rollupOptions: { input: join(root, 'entry.js'), preserveEntrySignatures: 'strict' },
    },
  });
  const [made] = [output].flat() as Rollup.RollupOutput[];
  const chunks = made?.output.filter((part) => part.type === 'chunk') ?? [];
  expect(chunks.flatMap(({ imports }) => imports)).toEqual([]);
  return chunks.map(({ code }) => code).join('');
}

it('is under 6.5 kB and needs nothing of Node.js', async () => {
  const code = await bundle();
  expect(code).toContain('/automation/new-leads');
  expect(code).not.toMatch(/\bnode:|\b(process|Buffer|global|require)\b/);
  expect(gzipSync(code).length).toBeLessThan(LIMIT_BYTES);
});
