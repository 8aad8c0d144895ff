#!/usr/bin/env node
import './check-node.js';
import { existsSync } from 'node:fs';
import process from 'node:process';

const built = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(built)) {
  process.stderr.write(
    'leadtap: the program is not built yet\n  Run `npm run build` at the root of the repository.\n',
  );
  process.exit(1);
}

function currentFolder() {
  try {
    return process.cwd();
  } catch {
    process.stderr.write('leadtap: the current folder was deleted\n  Change to an existing folder.\n');
    return process.exit(1);
  }
}
const cwd = currentFolder();

// Node warns that its SQLite is experimental. Leadtap is tested with every supported version of Node.
const printWarning = process.listeners('warning');
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name === 'ExperimentalWarning' && warning.message.includes('SQLite')) return;
  for (const print of printWarning) print.call(process, warning);
});

// `leadtap user list | head`: the reader has closed the pipe. Exit as after SIGPIPE, without a message. Other errors, such as a
// full disk, fail the command that waits for its output, but not `serve`, whose log lines are lost.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error) => {
    if (error.code === 'EPIPE') process.exit(128 + 13);
  });

const { stopOnSignals } = await import(new URL('../dist/cli/exit.js', import.meta.url).href);
const signal = stopOnSignals((code) => process.exit(code));

// Loaded after the signal handlers are set: process 1 of a container ignores signals without a handler, and loading takes time.
const { main } = await import(built.href);
const { invocationOf } = await import(new URL('../dist/cli/invocation.js', import.meta.url).href);
const { systemClock } = await import(new URL('../dist/lib/clock.js', import.meta.url).href);

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  cwd,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  invocation: invocationOf(process.env, process.argv[1], cwd),
  signal,
});
