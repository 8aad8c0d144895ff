import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOOKS_PATH, LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import type { Command } from 'commander';
import { TOKEN_SCOPES } from '../accounts/token-scopes.ts';
import { type Config, describeDatabase, VARIABLES } from '../config.ts';
import { toIso } from '../lib/clock.ts';
import { ListenError } from '../ops/listen.ts';
import { issue } from './accounts/issued-tokens.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { DEMO_AUTOMATIONS, DEMO_TOKENS, DEMO_USER, makeLead, makeRefusedBody } from './demo-data.ts';
import { TOKEN_MS, writeHistory } from './demo-history.ts';
import { Failure } from './exit.ts';
import { asFailure } from './failure.ts';
import { withInvocation } from './invocation.ts';
import {
  addressRows,
  hasColours,
  type Style,
  styled,
  toReachable,
  write,
  writeJson,
  writeLine,
} from './output.ts';
import { loadServer } from './serve.ts';

interface DemoFlags {
  readonly host?: string;
  readonly port?: string;
  readonly json?: true;
}

const HOLD_S = 50;
const PAUSE_MS = 5000;
const LOOK_MS = 10;
const MAX_LOOKS = 300;

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
    const history = await writeHistory(config, context.clock);
    const demo = await startDemo(config, context, isDefaultPort);
    try {
      const { headersOf, post } = clientOf(demo.baseUrl);
      const hook = { url: `${receiver.origin}/zapier`, name: 'Zapier', send: 'lead' };
      const since = toIso(history.since);
      const added = await post(HOOKS_PATH, await demo.issueFor('Zapier'), { ...hook, since });
      await post(LEADS_PATH, history.formToken, makeRefusedBody());
      await untilSent(demo, String(added['id']));
      await show(demo, context, flags.json ?? false);
      await goOn(demo, context, headersOf(history.n8nToken), flags.json ?? false);
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

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'leadtap-demo-'));
  } catch (error) {
    const fix = 'Set TMPDIR to a folder that this user may write to.';
    throw new Failure('unavailable', `no folder can be created in ${tmpdir()}`, fix).causedBy(error);
  }
}

/** What the webhook of the demo sends to: it accepts everything. Its origin is allowed, and no other one of this machine. */
async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
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

type Demo = Awaited<ReturnType<typeof startDemo>>;

/** If the default port is in use, the demo takes any free port, so that a first try does not fail. */
async function startDemo(config: Config, context: CommandContext, isDefaultPort: boolean) {
  const { compose, start, makeLogger } = await loadServer();
  const { clock, invocation, stderr } = context;
  const composed = (to: Config) => compose(to, makeLogger(to.logLevel, stderr), { clock, invocation });
  const serve = async (to: Config, notes: readonly string[]) => {
    const { keys, ...service } = await composed(to);
    const running = await start(service, to);
    const baseUrl = toReachable(`${running.url}${to.basePath}`);
    const issueFor = async (name: string, userId: string = DEMO_USER, scopes?: typeof TOKEN_SCOPES) => {
      // A short id, so that all that the demo prints fits on a terminal.
      const tokenId = randomUUID().slice(0, 8);
      const request = { userId, name, tokenId, lifetimeMs: TOKEN_MS, ...(scopes && { scopes }) };
      return (await issue({ store: service.store, keys, now: clock() }, request)).token;
    };
    return { running, baseUrl, config: to, service, issueFor, notes };
  };
  return serve(config, []).catch((error: unknown) => {
    if (!(error instanceof ListenError) || !isDefaultPort) throw error;
    return serve({ ...config, port: 0 }, [`Port ${config.port} is in use, so the demo uses another port.`]);
  });
}

function clientOf(baseUrl: string) {
  const headersOf = (token: string) => ({ authorization: `Bearer ${token}` });
  const post = async (path: string, token: string, body: object) => {
    const headers = { ...headersOf(token), 'content-type': 'application/json' };
    const response = await fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  return { headersOf, post };
}

/** Its webhook has accepted the leads of the last day. On a slow machine, the pages show that it is late. */
async function untilSent({ service: { store, connections } }: Demo, hookId: string): Promise<void> {
  const { latestStamp } = await store.status();
  for (let tries = 0; tries < MAX_LOOKS; tries += 1) {
    const hook = await store.hooks.find(hookId);
    if (!hook || hook.announcedThrough >= latestStamp) break;
    await sleep(LOOK_MS);
  }
  await connections.flush();
}

async function show(demo: Demo, context: CommandContext, json: boolean): Promise<void> {
  const { baseUrl, config, running, issueFor, notes } = demo;
  const callers = await Promise.all(
    DEMO_TOKENS.map(async (caller) => ({
      ...caller,
      token: await issueFor(`demo, ${caller.userId}`, caller.userId),
    })),
  );
  // Browsers do not send the part after `#`, and the console removes it from the address.
  const consoleUrl = config.console
    ? `${baseUrl}/#token=${await issueFor('console', DEMO_USER, TOKEN_SCOPES)}`
    : undefined;
  const { metricsUrl, statusUrl } = running;
  // Other processes may open it, too.
  const databaseUrl = `sqlite:${describeDatabase(config.database)}`;
  const facts = { baseUrl, consoleUrl, metricsUrl, statusUrl, databaseUrl, callers, notes };
  if (json) return writeJson(context.stdout, { ...facts, automations: DEMO_AUTOMATIONS });
  await write(context.stdout, withInvocation(demoScreen(facts, context), context));
}

interface DemoFacts extends Pick<Demo, 'baseUrl' | 'notes'> {
  /** Absent if the console is switched off. */
  readonly consoleUrl: string | undefined;
  readonly statusUrl: string | undefined;
  readonly databaseUrl: string;
  readonly callers: readonly { readonly userId: string; readonly token: string }[];
}

/** It fits on a terminal of 80 × 24, and its last line is the address to open. */
function demoScreen(facts: DemoFacts, { stdout, env }: CommandContext): string {
  const isColoured = hasColours(stdout, env);
  const paint = (style: Style, text: string) => (isColoured ? styled(style, text) : text);
  const endpoint = `${facts.baseUrl}${NEW_LEADS_PATH}`;
  const rows = [
    ['Endpoint', endpoint],
    ['Status', facts.statusUrl],
    // Of the pages, so that they can be tried.
    ['Commands', `LEADTAP_DATABASE_URL=${facts.databaseUrl}`],
  ] as const;
  const [ada, ...others] = facts.callers;
  return [
    `${paint('bold', 'Leadtap demo')}: leads of a made-up company. Ctrl+C stops it and deletes its data.`,
    '',
    ...addressRows(rows, isColoured),
    ...facts.notes.map((note) => `  ${paint('yellow', note)}`),
    '',
    'Three leads of the user ada, to paste into another terminal:',
    `curl -s -H 'Authorization: Bearer ${ada?.token}' '${endpoint}?limit=3'`,
    '',
    `Other users, with tokens in \`leadtap demo --json\`: ${others.map(({ userId }) => userId).join(', ')}`,
    '',
    '4 automations: n8n and Zapier are well, Make stopped an hour ago, and a request',
    `of Web form was refused. The ${facts.consoleUrl ? 'first' : 'status'} page says what to do about both.`,
    ...(facts.consoleUrl
      ? [paint('bold', 'Open this address to see them, and the leads as they arrive:'), facts.consoleUrl]
      : []),
    '',
  ].join('\n');
}

/** Leads arrive and n8n polls, until the demo is stopped. A poll that is held then is answered when the service stops. */
async function goOn(
  { service, baseUrl }: Demo,
  { clock, signal, stdout }: CommandContext,
  headers: object,
  json: boolean,
): Promise<void> {
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => undefined);
  const poll = async () => {
    let url = `${baseUrl}${NEW_LEADS_PATH}?since=${toIso((await service.store.status()).latestStamp)}`;
    while (!signal.aborted) {
      const response = await fetch(url, { headers: { ...headers, prefer: `wait=${HOLD_S}` } });
      await response.arrayBuffer();
      url = /^<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1] ?? url;
      await pause(PAUSE_MS);
    }
  };
  void poll().catch(() => undefined);
  while (!signal.aborted) {
    const lead = makeLead(clock());
    await service.store.writeLeads([lead]);
    // At a terminal the address of the console stays the last line.
    const { firstName, lastName } = lead.fields;
    if (!json && !stdout.isTTY) await writeLine(stdout, `  ${toIso(clock())}  ${firstName} ${lastName}`);
    await pause(3000 + Math.random() * 5000);
  }
}
