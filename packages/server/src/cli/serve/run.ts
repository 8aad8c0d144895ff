import process from 'node:process';
import { compose } from '../../compose.ts';
import type { Config } from '../../config.ts';
import { type Running, start } from '../../ops/lifecycle.ts';
import { makeLogger } from '../../ops/logging.ts';
import { type LineSink, TurnBuffer } from '../../ops/turn-buffer.ts';
import { VERSION } from '../../version.ts';
import type { CommandContext } from '../context.ts';
import { asFailure } from '../known-errors.ts';
import { loadConfig } from '../with-store.ts';
import { Installation } from './installation.ts';

export interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
}

export async function serve(context: CommandContext, flags: ServeFlags): Promise<void> {
  const config = await loadConfig(context, flags);
  const lines = new TurnBuffer(context.stdout);
  const flush = () => lines.flush();
  // However it ends: what was logged in the last turn tells why.
  process.once('exit', flush);
  try {
    await run(config, lines, context);
  } finally {
    process.off('exit', flush);
    flush();
  }
}

async function run(config: Config, lines: LineSink, context: CommandContext): Promise<void> {
  const logger = makeLogger(config.logLevel, lines);
  const installation = new Installation(config);
  let running: Running;
  try {
    const service = await compose(config, logger, { clock: context.clock, open: installation.open });
    running = await start(service, config);
  } catch (error) {
    throw asFailure(error, config);
  }
  const { url, metricsUrl } = running;
  for (const sentence of installation.warnings()) logger.warn(sentence);
  const facts = await installation.describe();
  logger.info(
    { version: VERSION, url: `${url}${config.basePath}`, metricsUrl, ...facts },
    'serving new leads',
  );
  await aborted(context.signal);
  logger.info('stopping: requests in hand are finished first');
  await running.stop();
  logger.info('stopped');
}

/** Resolves when the person or the system asks to stop. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
