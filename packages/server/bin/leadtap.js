#!/usr/bin/env node
import { existsSync } from 'node:fs';
import process from 'node:process';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`leadtap: Node.js 20.19 or later is needed, this is ${process.versions.node}\n`);
  process.exit(1);
}

const built = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(built)) {
  process.stderr.write(
    'leadtap: the program is not built yet\n  Run `npm run build` at the root of the repository.\n',
  );
  process.exit(1);
}

// Node calls its SQLite experimental. We test every version of Node that we support, so that is no news.
const printWarning = process.listeners('warning');
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name === 'ExperimentalWarning' && warning.message.includes('SQLite')) return;
  for (const print of printWarning) print.call(process, warning);
});

// `leadtap user list | head`: the reader has seen enough. Ends like any program in a pipe, without a word.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error) => {
    if (error.code === 'EPIPE') process.exit(128 + 13);
    throw error;
  });

const { stopOnSignals } = await import(new URL('../dist/cli/exit.js', import.meta.url).href);
const signal = stopOnSignals((code) => process.exit(code));

// After the handlers: the first process of a container gets no signal that it does not handle, and loading takes a while.
const { main } = await import(built.href);
const { systemClock } = await import(new URL('../dist/clock.js', import.meta.url).href);

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  signal,
});
