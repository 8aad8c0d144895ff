import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { Command } from 'commander';
import type { TokenScope } from '../accounts/records.ts';
import type { SigningKeys } from '../accounts/signing-keys.ts';
import { TOKEN_SCOPES } from '../accounts/token-scopes.ts';
import { type Config, describeDatabase, VARIABLES } from '../config.ts';
import type { LeadInput } from '../leads/record.ts';
import { toIso } from '../lib/clock.ts';
import type { Running } from '../ops/lifecycle.ts';
import { ListenError } from '../ops/listen.ts';
import type { Store } from '../store/store.ts';
import { issue } from './accounts/issued-tokens.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import {
  type Automations,
  continuePolling,
  DemoClock,
  playLastDay,
  startReceiver,
} from './demo-automations.ts';
import { DEMO_AUTOMATIONS, DEMO_ORGANISATION, DEMO_TOKENS, makeLead, makeStatus } from './demo-data.ts';
import { Failure } from './exit.ts';
import { asFailure } from './failure.ts';
import { withInvocation } from './invocation.ts';
import { addressRows, hasColours, type Style, styled, toReachable, write, writeJson } from './output.ts';
import { loadServer } from './serve.ts';

interface DemoFlags {
  readonly host?: string;
  readonly port?: string;
  readonly json?: true;
}

const DAY_MS = 86_400_000;
/** So long that no page of the demo warns that a token expires. */
const TOKEN_MS = 90 * DAY_MS;
const HISTORY_LEADS = 20;
/** The automations are hers, so that her console lists them. */
const ADA = DEMO_TOKENS[0].userId;

export function registerDemo(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'demo',
    summary: 'try it with a made-up company',
    description:
      'Serve a made-up company with users of every access level and plan, four automations, of which two need attention, and a new lead every few seconds. The demo prints the address of its console, and a curl command. It removes all its data when it stops.',
    options: {
      '--host <address>': 'address to listen on (LEADTAP_HOST, default 127.0.0.1)',
      '--port <number>': 'port to listen on (LEADTAP_PORT, default 3000, or any free port if 3000 is in use)',
      '--json': 'print the addresses and tokens as JSON',
    },
    run: runDemo,
  });
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'leadtap-demo-'));
  } catch (error) {
    const fix = 'Set TMPDIR to a folder that this user may write to.';
    throw new Failure('unavailable', `no folder can be created in ${tmpdir()}`, fix).causedBy(error);
  }
}

async function runDemo(context: CommandContext, flags: DemoFlags): Promise<void> {
  const operatorConfig = await loadConfig(context, flags);
  const folder = makeFolder();
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  // Also when the process is forced to exit: by a second signal, or because the reader of its output has closed it.
  process.once('exit', removeFolder);
  const receiver = await startReceiver();
  const config = demoConfig(operatorConfig, folder, receiver.origin);
  const isDefaultPort = !flags.port && config.port === Number(VARIABLES.port.default);
  try {
    const demo = await startDemo(config, context, isDefaultPort);
    try {
      await show(demo, receiver.origin, context, flags.json ?? false);
    } finally {
      await demo.running.stop();
    }
  } catch (error) {
    throw asFailure(error, config);
  } finally {
    receiver.close();
    process.off('exit', removeFolder);
    removeFolder();
  }
}

/** The operator's address, with a database and a key of the demo, and all that its pages show switched on. */
const demoConfig = (config: Config, folder: string, receiver: string): Config => ({
  ...config,
  database: { kind: 'sqlite', file: join(folder, 'leadtap.db') },
  redisUrl: undefined,
  signingKey: { file: join(folder, 'signing.key') },
  externalTokens: undefined,
  publicUrl: undefined,
  metricsAddress: { host: '127.0.0.1', port: 0 },
  ...{ intake: true, keepRefused: true, hooks: true, silentAfterMs: undefined },
  hookHosts: [...config.hookHosts, receiver],
  // Its problems are made up.
  alertUrl: undefined,
  autoMigrate: true,
  logLevel: config.logLevel === 'info' ? 'warn' : config.logLevel,
});

interface Demo {
  readonly running: Running;
  readonly baseUrl: string;
  readonly config: Config;
  readonly clock: DemoClock;
  readonly service: Automations['service'];
  readonly keys: SigningKeys;
  readonly notes: readonly string[];
}

/** If the default port is in use, the demo takes any free port, so that a first try does not fail. */
async function startDemo(config: Config, context: CommandContext, isDefaultPort: boolean): Promise<Demo> {
  const { compose, start, makeLogger } = await loadServer();
  const logger = makeLogger(config.logLevel, context.stderr);
  const clock = new DemoClock(context.clock);
  const { keys, ...service } = await compose(config, logger, {
    clock: clock.now,
    invocation: context.invocation,
  });
  try {
    const running = await start(service, config);
    const baseUrl = toReachable(`${running.url}${config.basePath}`);
    return { running, baseUrl, config, service, keys, clock, notes: [] };
  } catch (error) {
    if (!(error instanceof ListenError) || !isDefaultPort) throw error;
    const demo = await startDemo({ ...config, port: 0 }, context, false);
    return { ...demo, notes: [`Port ${config.port} is in use, so the demo uses another port.`] };
  }
}

interface DemoFacts {
  readonly baseUrl: string;
  /** Opens the console with a token of Ada that may also send leads. Absent if the console is switched off. */
  readonly consoleUrl?: string;
  readonly metricsUrl: string | undefined;
  readonly statusUrl: string | undefined;
  /** Other processes may open it, too. */
  readonly databaseUrl: string;
  readonly callers: readonly { readonly userId: string; readonly shows: string; readonly token: string }[];
  readonly automations: typeof DEMO_AUTOMATIONS;
  readonly notes: readonly string[];
}

async function show(
  { service, keys, baseUrl, notes, running, clock, config }: Demo,
  receiver: string,
  context: CommandContext,
  json: boolean,
): Promise<void> {
  const { store } = service;
  const { stdout, signal } = context;
  await store.applyOrganisation(DEMO_ORGANISATION);
  await addHistory(store, clock.now());
  const issueFor = async (userId: string, name: string, scopes?: readonly TokenScope[]) => {
    // A short id, so that all that the demo prints fits on a terminal.
    const tokenId = randomUUID().slice(0, 8);
    const request = { userId, name, tokenId, lifetimeMs: TOKEN_MS, ...(scopes && { scopes }) };
    return (await issue({ store, keys, now: clock.now() }, request)).token;
  };
  const poll = await playLastDay({
    ...{ baseUrl, receiver, clock, service },
    issue: (name, scopes) => issueFor(ADA, name, scopes),
  });
  const callers = await Promise.all(
    DEMO_TOKENS.map(async (caller) => ({
      ...caller,
      token: await issueFor(caller.userId, `demo, ${caller.userId}`),
    })),
  );
  const { metricsUrl, statusUrl } = running;
  const facts: DemoFacts = {
    baseUrl,
    // Browsers do not send the part after `#`, and the console removes it from the address.
    ...(config.console && {
      consoleUrl: `${baseUrl}/#token=${await issueFor(ADA, 'console', TOKEN_SCOPES)}`,
    }),
    metricsUrl,
    statusUrl,
    databaseUrl: `sqlite:${describeDatabase(config.database)}`,
    callers,
    automations: DEMO_AUTOMATIONS,
    notes,
  };
  await (json
    ? writeJson(stdout, facts)
    : write(stdout, withInvocation(demoScreen(facts, context), context)));
  const ended = new AbortController();
  void continuePolling(poll, AbortSignal.any([signal, ended.signal]));
  try {
    while (!signal.aborted) {
      const lead = makeLead(clock.now());
      await store.writeLeads([lead]);
      // At a terminal the address of the console stays the last line.
      if (!json && !stdout.isTTY) await write(stdout, leadLine(lead, clock.now()));
      await sleep(3000 + Math.random() * 5000, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    ended.abort();
  }
}

/** Leads of the five days before, so that the first poll returns some. */
async function addHistory(store: Store, now: number): Promise<void> {
  const leads = Array.from({ length: HISTORY_LEADS }, () => {
    const createdAt = now - Math.floor(Math.random() * 5 * DAY_MS);
    return { ...makeLead(createdAt), statusValue: makeStatus(), createdAt };
  });
  await store.writeLeads(leads, { historical: true });
}

/** It fits on a terminal of 80 × 24, and its last line is the address to open. */
function demoScreen(facts: DemoFacts, context: CommandContext): string {
  const isColoured = hasColours(context.stdout, context.env);
  const paint = (style: Style, text: string) => (isColoured ? styled(style, text) : text);
  const endpoint = `${facts.baseUrl}${NEW_LEADS_PATH}`;
  const rows = [
    ['Endpoint', endpoint],
    ['Status', facts.statusUrl],
    // Of the pages, so that they can be tried.
    ['Commands', `LEADTAP_DATABASE_URL=${facts.databaseUrl}`],
  ] as const;
  const [ada, ...others] = facts.callers;
  const names = others.map(({ userId }) => userId).join(', ');
  return [
    `${paint('bold', 'Leadtap demo')}: leads of a made-up company. Ctrl+C stops it and deletes its data.`,
    '',
    ...addressRows(rows, isColoured),
    ...facts.notes.map((note) => `  ${paint('yellow', note)}`),
    '',
    'Three leads of the user ada, to paste into another terminal:',
    `curl -s -H 'Authorization: Bearer ${ada?.token}' '${endpoint}?limit=3'`,
    '',
    `Other users, with tokens in \`leadtap demo --json\`: ${names}`,
    '',
    '4 automations: n8n and Zapier are well, Make stopped an hour ago, and a request',
    `of Web form was refused. The ${facts.consoleUrl ? 'first' : 'status'} page says what to do about both.`,
    ...(facts.consoleUrl
      ? [paint('bold', 'Open this address to see them, and the leads as they arrive:'), facts.consoleUrl]
      : []),
    '',
  ].join('\n');
}

function leadLine(lead: LeadInput, createdAt: number): string {
  const place = [lead.branchId ?? 'no branch', lead.departmentId].filter(Boolean).join(' / ');
  const name = `${lead.fields.firstName ?? ''} ${lead.fields.lastName ?? ''}`;
  return `  ${toIso(createdAt)}  ${name.padEnd(20)} ${place}\n`;
}
