import type { Command } from 'commander';
import { compose } from '../compose.ts';
import { type Running, start } from '../ops/lifecycle.ts';
import { makeLogger } from '../ops/logging.ts';
import { VERSION } from '../version.ts';
import type { CommandContext } from './context.ts';
import { asFailure } from './known-errors.ts';
import { loadConfig } from './with-store.ts';

const EXAMPLES = `
The schema is brought up to date first (LEADTAP_AUTO_MIGRATE=false turns that off). Logs are JSON lines on
stdout. SIGTERM or Ctrl+C stops it: requests in hand are finished, for at most 10 seconds.

Examples:
  leadtap serve
  leadtap serve --host 0.0.0.0 --port 8080
  LEADTAP_BASE_PATH=/api LEADTAP_PUBLIC_URL=https://leads.example.com/api leadtap serve`;

export function registerServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .summary('serve the new leads')
    .description('Serve GET {base_url}/automation/new-leads until told to stop.')
    .option('--host <address>', 'address to listen on (LEADTAP_HOST, default 127.0.0.1)')
    .option('--port <number>', 'port to listen on, 0 for any free one (LEADTAP_PORT, default 3000)')
    .addHelpText('after', EXAMPLES)
    .action((flags: { host?: string; port?: string }) => serve(context, flags));
}

async function serve(context: CommandContext, flags: { host?: string; port?: string }): Promise<void> {
  const config = await loadConfig(context, flags);
  const logger = makeLogger(config.logLevel, context.stdout);
  let running: Running;
  try {
    running = await start(await compose(config, logger, context.clock), config);
  } catch (error) {
    throw asFailure(error, config);
  }
  const { url, metricsUrl } = running;
  logger.info({ version: VERSION, url: `${url}${config.basePath}`, metricsUrl }, 'serving new leads');
  await aborted(context.signal);
  logger.info('stopping: requests in hand are finished first');
  await running.stop();
  logger.info('stopped');
}

/** Resolves when the person or the system asks to stop. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
