import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { issueToken } from '../../accounts/own-tokens.ts';
import type { SigningKeys } from '../../accounts/signing-keys.ts';
import { compose } from '../../compose.ts';
import { type Config, VARIABLES } from '../../config.ts';
import { type Running, start } from '../../ops/lifecycle.ts';
import { ListenError } from '../../ops/listen-error.ts';
import { makeLogger } from '../../ops/logging.ts';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../context.ts';
import { asFailure } from '../known-errors.ts';
import { write, writeJson } from '../output.ts';
import { loadConfig } from '../with-store.ts';
import { DEMO_CALLERS, DEMO_ORGANISATION } from './company.ts';
import { type DemoFacts, demoScreen, leadLine } from './screen.ts';
import { addHistory, type TrickleParts, trickle } from './trickle.ts';

export interface DemoFlags {
  readonly host?: string;
  readonly port?: string;
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;

export async function demo(context: CommandContext, flags: DemoFlags): Promise<void> {
  const given = await loadConfig(context, flags);
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-demo-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  // Also when the process is made to exit: by a second signal, or because the reader of its output was closed.
  process.once('exit', removeFolder);
  const config = throwAway(given, folder);
  try {
    const { running, store, keys, notes } = await startDemo(config, context, isUnasked(given.port, flags));
    try {
      await show({ running, store, keys, notes, config }, context, flags.json ?? false);
    } finally {
      await running.stop();
    }
  } catch (error) {
    throw asFailure(error, config);
  } finally {
    process.off('exit', removeFolder);
    removeFolder();
  }
}

/** Nobody asked for the port that is the default. */
const isUnasked = (port: number, flags: DemoFlags): boolean =>
  !flags.port && port === Number(VARIABLES.port.default);

/** The demo's own database and key; only the address is the operator's. */
const throwAway = (config: Config, folder: string): Config => ({
  ...config,
  database: { kind: 'sqlite', file: join(folder, 'leadtap.db') },
  redisUrl: undefined,
  signingKey: { file: join(folder, 'signing.key') },
  externalTokens: undefined,
  publicUrl: undefined,
  metricsAddress: { host: '127.0.0.1', port: 0 },
  autoMigrate: true,
  logLevel: config.logLevel === 'info' ? 'warn' : config.logLevel,
});

interface StartedDemo {
  readonly running: Running;
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly notes: readonly string[];
}

/** A first try must not fail because something else has the port: unless a port was asked for, any will do. */
async function startDemo(config: Config, context: CommandContext, anyPort: boolean): Promise<StartedDemo> {
  const logger = makeLogger(config.logLevel, context.stderr);
  const { store, keys, ...service } = await compose(config, logger, { clock: context.clock });
  try {
    return { running: await start(service, config), store, keys, notes: [] };
  } catch (error) {
    if (!(error instanceof ListenError) || !anyPort || config.port === 0) throw error;
    const started = await startDemo({ ...config, port: 0 }, context, false);
    return { ...started, notes: [`Port ${config.port} is taken, so the demo took another one.`] };
  }
}

async function show(
  demo: StartedDemo & { readonly config: Config },
  context: CommandContext,
  json: boolean,
): Promise<void> {
  const parts: TrickleParts = { store: demo.store, clock: context.clock, random: Math.random };
  await demo.store.applyOrganisation(DEMO_ORGANISATION);
  await addHistory(parts, 20);
  const facts: DemoFacts = {
    baseUrl: `${demo.running.url}${demo.config.basePath}`,
    metricsUrl: demo.running.metricsUrl,
    callers: await Promise.all(DEMO_CALLERS.map((caller) => withToken(caller, demo.keys, context.clock()))),
    startedAt: context.clock(),
    notes: demo.notes,
  };
  if (json) await writeJson(context.stdout, facts);
  else await write(context.stdout, demoScreen(facts, context));
  for await (const { lead, createdAt } of trickle(parts, context.signal))
    if (!json) await write(context.stdout, leadLine(lead, createdAt));
}

async function withToken(
  caller: (typeof DEMO_CALLERS)[number],
  keys: SigningKeys,
  issuedAt: number,
): Promise<DemoFacts['callers'][number]> {
  const grant = { userId: caller.userId, tokenId: randomUUID(), issuedAt, expiresAt: issuedAt + DAY_MS };
  return { ...caller, token: await issueToken(keys, grant) };
}
