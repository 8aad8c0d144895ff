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
import { type Config, VARIABLES } from '../config.ts';
import type { LeadInput } from '../leads/record.ts';
import { toIso } from '../lib/clock.ts';
import type { Running } from '../ops/lifecycle.ts';
import { ListenError } from '../ops/listen.ts';
import type { Store } from '../store/store.ts';
import { issueRecorded } from './accounts/token.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { DEMO_ORGANISATION, DEMO_TOKENS, makeLead, makeStatus } from './demo-data.ts';
import { asFailure, Failure } from './failure.ts';
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

export function registerDemo(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'demo',
    summary: 'try it with a made-up company',
    description:
      'Serve a made-up company with users of every access level and plan, and add a new lead every few seconds. The demo prints the address of its console, and a curl command. It removes all its data when it stops.',
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
  const config = demoConfig(operatorConfig, folder);
  const isDefaultPort = !flags.port && config.port === Number(VARIABLES.port.default);
  try {
    const demo = await startDemo(config, context, isDefaultPort);
    try {
      await show(demo, context, flags.json ?? false);
    } finally {
      await demo.running.stop();
    }
  } catch (error) {
    throw asFailure(error, config);
  } finally {
    process.off('exit', removeFolder);
    removeFolder();
  }
}

/** The operator's address, with a database and a key of the demo. */
const demoConfig = (config: Config, folder: string): Config => ({
  ...config,
  database: { kind: 'sqlite', file: join(folder, 'leadtap.db') },
  redisUrl: undefined,
  signingKey: { file: join(folder, 'signing.key') },
  externalTokens: undefined,
  publicUrl: undefined,
  metricsAddress: { host: '127.0.0.1', port: 0 },
  // The console sends test leads.
  intake: true,
  autoMigrate: true,
  logLevel: config.logLevel === 'info' ? 'warn' : config.logLevel,
});

interface Demo {
  readonly running: Running;
  readonly baseUrl: string;
  readonly hasConsole: boolean;
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly notes: readonly string[];
}

/** If the default port is in use, the demo takes any free port, so that a first try does not fail. */
async function startDemo(config: Config, context: CommandContext, isDefaultPort: boolean): Promise<Demo> {
  const { compose, start, makeLogger } = await loadServer();
  const logger = makeLogger(config.logLevel, context.stderr);
  const { store, keys, ...service } = await compose(config, logger, {
    clock: context.clock,
    invocation: context.invocation,
  });
  try {
    const running = await start(service, config);
    const baseUrl = toReachable(`${running.url}${config.basePath}`);
    return { running, baseUrl, hasConsole: config.console, store, keys, notes: [] };
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
  readonly callers: readonly { readonly userId: string; readonly shows: string; readonly token: string }[];
  readonly notes: readonly string[];
}

async function show(demo: Demo, context: CommandContext, json: boolean): Promise<void> {
  const { store, keys, baseUrl, notes, running } = demo;
  const { clock, stdout, signal } = context;
  await store.applyOrganisation(DEMO_ORGANISATION);
  await addHistory(store, clock());
  const issue = async (userId: string, name: string, scopes?: readonly TokenScope[]) => {
    const issuedAt = clock();
    // A short id, so that all that the demo prints fits on a terminal.
    const tokenId = randomUUID().slice(0, 8);
    const grant = { userId, tokenId, issuedAt, expiresAt: issuedAt + TOKEN_MS, ...(scopes && { scopes }) };
    const [issued] = await issueRecorded(store, keys, [grant], name);
    return issued?.token ?? '';
  };
  const callers = await Promise.all(
    DEMO_TOKENS.map(async (caller) => ({
      ...caller,
      token: await issue(caller.userId, `demo, ${caller.userId}`),
    })),
  );
  const { metricsUrl, statusUrl } = running;
  const facts: DemoFacts = {
    baseUrl,
    // Browsers do not send the part after `#`, and the console removes it from the address.
    ...(demo.hasConsole && {
      consoleUrl: `${baseUrl}/#token=${await issue(DEMO_TOKENS[0].userId, 'console', TOKEN_SCOPES)}`,
    }),
    metricsUrl,
    statusUrl,
    callers,
    notes,
  };
  await (json
    ? writeJson(stdout, facts)
    : write(stdout, withInvocation(demoScreen(facts, context), context)));
  while (!signal.aborted) {
    const lead = makeLead(clock());
    await store.writeLeads([lead]);
    // At a terminal the address of the console stays the last line.
    if (!json && !stdout.isTTY) await write(stdout, leadLine(lead, clock()));
    await sleep(3000 + Math.random() * 5000, undefined, { signal }).catch(() => undefined);
  }
}

/** Leads of the last five days, so that the first poll returns some. */
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
    ['Reference', `${facts.baseUrl}/docs`],
    ['Status', facts.statusUrl],
  ] as const;
  const [ada, ...others] = facts.callers;
  const [ben, cleo, dan, zoe] = others.map(({ userId, shows }) => `${userId} (${shows})`);
  return [
    `${paint('bold', 'Leadtap demo')}: leads of a made-up company. Ctrl+C stops it and deletes its data.`,
    '',
    ...addressRows(rows, isColoured),
    ...facts.notes.map((note) => `  ${paint('yellow', note)}`),
    '',
    'Three leads of the user ada, to paste into another terminal:',
    `curl -s -H 'Authorization: Bearer ${ada?.token}' '${endpoint}?limit=3'`,
    '',
    'Other users, for whom `leadtap demo --json` prints tokens:',
    `  ${ben}, ${cleo},`,
    `  ${dan}, ${zoe}`,
    ...(facts.consoleUrl
      ? ['', paint('bold', 'Open this address to watch the leads arrive:'), facts.consoleUrl]
      : []),
    '',
  ].join('\n');
}

function leadLine(lead: LeadInput, createdAt: number): string {
  const place = [lead.branchId ?? 'no branch', lead.departmentId].filter(Boolean).join(' / ');
  const name = `${lead.fields.firstName ?? ''} ${lead.fields.lastName ?? ''}`;
  return `  ${toIso(createdAt)}  ${name.padEnd(20)} ${place}\n`;
}
