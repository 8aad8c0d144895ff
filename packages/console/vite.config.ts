import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { DOWNLOADS, PACKAGES } from './downloads.ts';
import { renderMakeApp } from './make-app.ts';
import { PLACEHOLDERS } from './src/connect/placeholders.ts';
import { MAKE_APP_FILE, platforms } from './src/connect/platforms.ts';
import { NODE_VERIFICATION, PYTHON_VERIFICATION } from './src/connect/programs.ts';
import { HEADERS_OF_HTTP } from './src/explore/headers-of-http.ts';
import texts from './src/loaded-texts.json' with { type: 'json' };
import { OWN_NEXT_STEPS } from './src/own-next-steps.ts';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const { version }: { version: string } = JSON.parse(readFileSync(pathOf('package.json'), 'utf8'));

/** The package `leadtap` serves the files from here. */
const OUT = pathOf('../server/dist/console');

/** Writes `.gz` and `.br` beside each file, so that the service never compresses one. */
const precompress: Plugin = {
  name: 'precompress',
  writeBundle: (_options, bundle) => {
    for (const name of Object.keys(bundle)) {
      const bytes = readFileSync(join(OUT, name));
      writeFileSync(join(OUT, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      writeFileSync(join(OUT, `${name}.br`), brotliCompressSync(bytes, { params }));
    }
  },
};

interface OfferedFile {
  readonly name: string;
  readonly source: Buffer;
}

/** The archives that `npm pack` makes of the packages, 75 kB in all. */
function packArchives(): OfferedFile[] {
  // As n8n's own build does.
  const node = pathOf('../../integrations/n8n/node');
  cpSync(join(node, 'icons'), join(node, 'dist/icons'), { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-archives-'));
  try {
    const paths = PACKAGES.map((path) => pathOf(`../../${path}`));
    execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder, ...paths], {
      shell: process.platform === 'win32',
    });
    return readdirSync(folder).map((name) => ({ name, source: readFileSync(join(folder, name)) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const readDownloads = (): OfferedFile[] =>
  DOWNLOADS.map((path) => ({
    name: basename(path),
    source: readFileSync(pathOf(`../../integrations/${path}`)),
  }));

const readMakeApp = (): OfferedFile => ({ name: MAKE_APP_FILE, source: Buffer.from(renderMakeApp()) });

/** The module `virtual:downloads`, with the address of each file that the page offers. */
const downloads: Plugin = {
  name: 'downloads',
  resolveId: (id) => (id === 'virtual:downloads' ? id : undefined),
  load(id) {
    if (id !== 'virtual:downloads') return undefined;
    const urls = [...readDownloads(), readMakeApp(), ...packArchives()].map(({ name, source }) => {
      const file = this.emitFile({ type: 'asset', name, source });
      return `${JSON.stringify(name)}: import.meta.ROLLUP_FILE_URL_${file}`;
    });
    return `export default { ${urls.join(', ')} };`;
  },
  // The name alone: the expression that is usual for it, 30 times, would be a kilobyte of the page.
  resolveFileUrl: ({ relativePath }) => JSON.stringify(relativePath),
};

/** The module `virtual:platforms`: the tiles of Connect, and the path of a file with texts that few pages need. */
const platformTexts: Plugin = {
  name: 'platform-texts',
  resolveId: (id) => (id === 'virtual:platforms' ? id : undefined),
  load(id) {
    if (id !== 'virtual:platforms') return undefined;
    const [withHooks, withoutHooks] = [true, false].map((hasHooks) =>
      platforms({ ...PLACEHOLDERS, hasHooks, version }),
    );
    const tiles = withoutHooks?.map(({ id, name, summary, runs }) => ({ id, name, summary, runs }));
    const verification = { node: NODE_VERIFICATION, python: PYTHON_VERIFICATION };
    const { titles, nextSteps } = texts;
    const headers = { ...texts.headers, ...HEADERS_OF_HTTP };
    const source = JSON.stringify({
      withHooks,
      withoutHooks,
      verification,
      titles,
      nextSteps,
      ownNextSteps: OWN_NEXT_STEPS,
      headers,
    });
    const file = this.emitFile({ type: 'asset', name: 'texts.json', source });
    return `export const tiles = ${JSON.stringify(tiles)}; export const path = import.meta.ROLLUP_FILE_URL_${file};`;
  },
  resolveFileUrl: ({ relativePath }) => JSON.stringify(relativePath),
};

export default defineConfig({
  root: pathOf('.'),
  // Relative: the service may be below a path, also one that only its proxy knows.
  base: './',
  publicDir: false,
  logLevel: 'warn',
  // Calls of `h` are half a kilobyte smaller than those of the JSX runtime.
  esbuild: {
    jsx: 'transform',
    jsxFactory: 'h',
    jsxFragment: 'Fragment',
    jsxInject: "import { h, Fragment } from 'preact'",
    legalComments: 'none',
  },
  resolve: {
    alias: {
      '@leadtap/client': pathOf('../client/src/index.ts'),
      '@leadtap/contract': pathOf('../contract/src/index.ts'),
    },
  },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsDir: 'console',
    target: 'es2022',
    // The polyfill would be an inline script for browsers that are too old anyway.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Its tables are built when it is loaded; the console uses a few names of it.
    rollupOptions: {
      input: { index: pathOf('index.html'), status: pathOf('status.html') },
      treeshake: { moduleSideEffects: (id) => !id.includes('/packages/contract/') },
    },
  },
  plugins: [downloads, platformTexts, precompress],
});
