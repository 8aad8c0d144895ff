import { setTimeout } from 'node:timers/promises';
import { compose } from '../../app.ts';
import { type Running, start } from '../../ops/lifecycle.ts';
import { makeLogger } from '../../ops/logging.ts';
import { VERSION } from '../../version.ts';
import type { CommandContext } from '../context.ts';
import { EXIT_CODES, ExitCode } from '../exit-code.ts';
import { asFailure } from '../known-errors.ts';
import { loadConfig } from '../with-store.ts';
import { Installation } from './installation.ts';

export interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
}

export async function serve(context: CommandContext, flags: ServeFlags): Promise<void> {
  const config = await loadConfig(context, flags);
  const logger = makeLogger(config.logLevel, context.stdout);
  const installation = new Installation(config);
  const { clock, signal } = context;
  let running: Running;
  try {
    const service = await compose(config, logger, {
      clock,
      open: installation.open,
      drain: () => drain(signal),
    });
    running = await start(service, config);
  } catch (error) {
    throw asFailure(error, config);
  } finally {
    // Also of a start that failed: the next one finds the database and the key, and does not warn.
    for (const sentence of installation.warnings()) logger.warn(sentence);
  }
  const { url, metricsUrl } = running;
  logger.info(
    { version: VERSION, url: `${url}${config.basePath}`, metricsUrl, ...installation.facts() },
    'serving new leads',
  );
  void installation.countAccounts(signal).then((counts) => counts && logger.info(counts, 'accounts'));
  await aborted(signal);
  logger.info('stopping: requests in hand are finished first');
  await running.stop();
  logger.info('stopped');
}

const DRAIN_MS = 3_000;

/**
 * After SIGTERM, load balancers need time to notice that this instance stops; until then they open connections to it.
 * After Ctrl+C there is no such time.
 */
async function drain({ reason }: AbortSignal): Promise<void> {
  if (reason instanceof ExitCode && reason.code === EXIT_CODES.terminated) await setTimeout(DRAIN_MS);
}

/** Resolves when the person or the system asks to stop. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
