/**
 * Builds one file that needs no Node.js: a single executable application of Node.js, with the service and its dependencies in the
 * virtual file system that Node.js mounts for it (`useVfs`, early development: change the pinned Node.js only with a run of
 * test/installed/executable-runs-without-node.test.ts). Not one bundled script: no other test would run that program.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const ROOT = resolve(HERE, '../..');
const MEBIBYTE = 2 ** 20;

/** Its binaries are for Node 20. The Node.js inside has its own SQLite. */
const NOT_NEEDED = '@photostructure/sqlite';
/** Node.js searches the list of all files whenever it reads one: with the files below, the program starts twice as slowly. */
const NOT_READ = /(^|\/)(node_modules|tests?|benchmarks?|examples?|docs)\/|\.([cm]?ts|map|md|ya?ml)$/;

/** The same limits as in the container. */
const NODE_OPTIONS = ['--max-semi-space-size=16', '--max-old-space-size=384'];

const npm = (cwd: string, ...argv: string[]): string =>
  execFileSync('npm', argv, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** The folder of the Node.js that the lock file names. */
function installNode(): string {
  npm(HERE, 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error');
  const folder = join(HERE, 'node_modules', `node-${process.platform}-${process.arch}`);
  if (existsSync(folder)) return folder;
  throw new Error(
    `The executable can be built on Linux (x64, arm64), not on ${process.platform} ${process.arch}.`,
  );
}

/** The folders of the package `leadtap` and of all that it depends on, as `npm ci` has installed them. */
const packageFolders = (): string[] =>
  npm(ROOT, 'ls', '--workspace', 'leadtap', '--all', '--omit=dev', '--parseable')
    .trim()
    .split('\n')
    .filter((folder) => folder !== ROOT && !folder.endsWith(NOT_NEEDED));

/** The files of a package by their path in the executable. Packages of the workspace are links, and links have no place there. */
function filesOf(folder: string): [string, string][] {
  const source = realpathSync(folder);
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => !NOT_READ.test(name) && statSync(join(source, name)).isFile())
    .map((name) => [join(relative(ROOT, folder), name), join(source, name)]);
}

function build(output: string): void {
  const node = installNode();
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-executable-'));
  // Sorted, and with the main script relative to the folder, so that two builds are equal.
  const files = packageFolders()
    .flatMap(filesOf)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const config = {
    main: 'main.mjs',
    mainFormat: 'module',
    output,
    useVfs: true,
    execArgv: NODE_OPTIONS,
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries([...files, ['LICENSE', join(node, 'LICENSE')]]),
  };
  try {
    writeFileSync(join(folder, 'main.mjs'), "import './node_modules/leadtap/bin/leadtap.js';\n");
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    mkdirSync(dirname(output), { recursive: true });
    execFileSync(join(node, 'bin/node'), ['--build-sea', 'config.json'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [output = join(ROOT, 'dist/leadtap')] = process.argv.slice(2).map((path) => resolve(path));
build(output);
process.stdout.write(
  `${relative(process.cwd(), output)}: ${Math.round(statSync(output).size / MEBIBYTE)} MiB\n`,
);
