import { existsSync } from 'node:fs';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import type { Command } from 'commander';
import { NO_COMPANY } from '../accounts/no-company.ts';
import { type Config, describeDatabase, VARIABLES } from '../config.ts';
import { quoteForShell } from '../lib/escape.ts';
import { VERSION } from '../lib/version.ts';
import { openStore } from '../open-store.ts';
import type { Running } from '../ops/lifecycle.ts';
import { probeAddresses } from '../ops/listen.ts';
import type { Logger } from '../ops/logging.ts';
import { SchemaVersionError } from '../sql/errors.ts';
import type { MigrationReport, Store } from '../store/store.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { EXIT_CODES, ExitCode, Failure } from './exit.ts';
import { asFailure } from './failure.ts';
import { withInvocation } from './invocation.ts';
import { addressRows, hasColours, writeLine } from './output.ts';
import { toTerminalLine } from './terminal-log.ts';

interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
}

export function registerServe(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'serve',
    summary: 'serve new leads',
    description: 'Serve GET {base_url}/automation/new-leads until it is stopped.',
    options: {
      '--host <address>': 'address to listen on (LEADTAP_HOST, default 127.0.0.1)',
      '--port <number>': 'port to listen on, 0 for any free port (LEADTAP_PORT, default 3000)',
    },
    help: `
serve first updates the database schema, unless LEADTAP_AUTO_MIGRATE=false. At a terminal it prints its addresses and a
short line for each request. To a file or a pipe it logs JSON lines. A warning that it created the database or the
signing key is normal only for a new installation.

SIGTERM or Ctrl+C stops it. It then finishes open requests, for at most 10 seconds. After SIGTERM it accepts
new connections for 3 more seconds, so that load balancers can react. npx does not pass SIGTERM on: let a supervisor
start the program itself, not npx.`,
    examples: [
      'leadtap serve',
      'leadtap serve --host 0.0.0.0 --port 8080',
      'LEADTAP_BASE_PATH=/api LEADTAP_PUBLIC_URL=https://leads.example.com/api leadtap serve',
    ],
    run: serve,
  });
}

/** Loaded only to serve: the other commands start faster without the HTTP server. */
export async function loadServer() {
  const [{ compose }, { start }, { makeLogger, LineBuffer }] = await Promise.all([
    import('../app.ts'),
    import('../ops/lifecycle.ts'),
    import('../ops/logging.ts'),
  ]);
  return { compose, start, makeLogger, LineBuffer };
}

async function serve(context: CommandContext, flags: ServeFlags): Promise<void> {
  const config = await loadConfig(context, flags);
  const { makeLogger, LineBuffer } = await loadServer();
  const lines = new LineBuffer(context.stdout);
  const { stdout } = context;
  // A person sees each line at once, and in its order.
  const output = stdout.isTTY ? { write: (line: string) => stdout.write(toTerminalLine(line)) } : lines;
  const flush = () => lines.flush();
  // For exits that skip the end of this function: a second signal, or an uncaught error.
  process.once('exit', flush);
  try {
    await serveUntilAborted(context, config, makeLogger(config.logLevel, output), flags);
  } finally {
    flush();
    process.off('exit', flush);
  }
}

async function serveUntilAborted(
  context: CommandContext,
  config: Config,
  logger: Logger,
  flags: ServeFlags,
): Promise<void> {
  const { clock, signal } = context;
  const { compose, start } = await loadServer();
  const keyFile = 'file' in config.signingKey ? config.signingKey.file : undefined;
  const isKeyMissing = keyFile !== undefined && !existsSync(keyFile);
  const replaced = new AbortController();
  let running: Running;
  let store: Store;
  const { isTTY } = context.stdout;
  // At a terminal the addresses replace what is logged at the start, except warnings.
  if (isTTY && logger.level === 'info') logger.level = 'warn';
  try {
    await probeAddresses([config, ...(config.metricsAddress === 'off' ? [] : [config.metricsAddress])]);
    const service = await compose(config, logger, {
      clock,
      open: openWithWarning(
        (message) => logger.warn(message),
        () => replaced.abort(),
        signal,
      ),
      drain: () => drain(signal),
      invocation: context.invocation,
    });
    store = service.store;
    running = await start(service, config);
  } catch (error) {
    // Stopped while it waited for the database.
    if (signal.aborted) return;
    throw asFailure(error, config);
  } finally {
    // Also after a failed start: the next start finds the new key, and does not warn.
    if (isKeyMissing && existsSync(keyFile))
      logger.warn(
        `created a new signing key: ${keyFile}. Tokens that were signed with another key are rejected`,
      );
  }
  logger.level = config.logLevel;
  const { metricsUrl, statusUrl } = running;
  const url = `${running.url}${config.basePath}`;
  const database = describeDatabase(config.database);
  const signingKey = keyFile ?? VARIABLES.signingKey.name;
  const intakeUrl = config.intake ? `${url}${LEADS_PATH}` : undefined;
  if (isTTY) {
    const base = config.publicUrl ?? url;
    const rows = [
      ['Console', config.console ? `${base}/` : undefined],
      ['Endpoint', `${base}${NEW_LEADS_PATH}`],
      ['Status', statusUrl],
    ] as const;
    const lines = addressRows(rows, hasColours(context.stdout, context.env));
    // What `open` cannot know: the flags, and the port that the system has chosen.
    const isPortGiven = flags.port !== undefined || config.port === 0;
    const host = flags.host === undefined ? '' : `LEADTAP_HOST=${quoteForShell(flags.host)} `;
    const port = isPortGiven ? `LEADTAP_PORT=${new URL(running.url).port || '80'} ` : '';
    const settings = config.publicUrl === undefined ? `${host}${port}` : '';
    const hint = config.console ? await openHint(store, settings, context) : [];
    await writeLine(context.stdout, ['', ...lines, ...hint, ''].join('\n'));
  } else
    logger.info(
      { version: VERSION, url, intakeUrl, metricsUrl, statusUrl, database, signingKey },
      'serving new leads',
    );
  // Not awaited: counting a million users takes long.
  void store.countAccounts(signal).then(
    (counts) => {
      logger.info(counts, 'accounts');
      if (counts.companies === 0)
        logger.warn(withInvocation(`${NO_COMPANY.message} ${NO_COMPANY.fix}`, context));
    },
    (error: unknown) => logger.debug({ err: error }, 'the accounts could not be counted'),
  );
  await aborted(AbortSignal.any([signal, replaced.signal]));
  logger.info('stopping: finishing open requests');
  await running.stop();
  logger.info('stopped');
  if (replaced.signal.aborted)
    throw new Failure(
      'restart',
      `the database file was replaced: ${database}`,
      'Start Leadtap again. Then it uses the new file.',
    );
}

/** `serve` itself creates no token without being asked. */
async function openHint(
  store: Store,
  settings: string,
  { invocation = 'leadtap' }: CommandContext,
): Promise<string[]> {
  const [first, second] = await store.listUsers(undefined, 2).catch(() => []);
  if (first === undefined) return [];
  const user = second === undefined ? quoteForShell(first.id) : 'ID';
  return ['', '  To open the console, connected:', `  ${settings}${invocation} open --user ${user}`];
}

/** A mistyped path creates a new, empty database, so the operator gets a warning. */
const openWithWarning =
  (warn: (message: string) => void, onReplaced: () => void, signal: AbortSignal): typeof openStore =>
  async (config, given = {}) => {
    const onMigrated = ({ from, to }: MigrationReport) => {
      if (from > 0) warn(`the schema of the database was updated from version ${from} to ${to}`);
    };
    const options = { ...given, onReplaced, signal, onMigrated };
    try {
      return await openStore(config, { ...options, create: false });
    } catch (error) {
      if (!(error instanceof SchemaVersionError) || error.found !== 0 || !config.autoMigrate) throw error;
    }
    const store = await openStore(config, options);
    warn(
      `created a new, empty database: ${describeDatabase(config.database)}. If you expected an existing one, check LEADTAP_DATABASE_URL and the current folder`,
    );
    return store;
  };

const DRAIN_MS = 3_000;

/** After SIGTERM load balancers need time to stop sending connections to this instance. Ctrl+C stops at once. */
async function drain({ reason }: AbortSignal): Promise<void> {
  if (reason instanceof ExitCode && reason.code === EXIT_CODES.terminated) await setTimeout(DRAIN_MS);
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
