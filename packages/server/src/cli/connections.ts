/** `leadtap connections`: all ways in and out, what was sent, waits, was missed, and what a person does about it. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DOOR_ID,
  type InConnection,
  type LogEntry,
  type OutConnection,
  UNASSIGNED_ID,
} from '@leadtap/contract';
import type { Command } from 'commander';
import { acceptedKeysOf, loadSigningKeys } from '../accounts/signing-keys.ts';
import { type Config, hookHostsOf } from '../config.ts';
import { markHandled } from '../connections/endpoint.ts';
import { toLogEntry } from '../connections/log-entry.ts';
import {
  DEFAULT_SILENT_AFTER_MS,
  type Report,
  type ReportSources,
  readReport,
} from '../connections/report.ts';
import type { JudgedRow } from '../connections/sentence.ts';
import type { Connection } from '../connections/store.ts';
import { createStopCheck } from '../hooks/url.ts';
import type { StoredLead } from '../leads/record.ts';
import { escapeJson, printable, quote } from '../lib/escape.ts';
import { formatDuration, plural } from '../lib/formats.ts';
import type { Store } from '../store/store.ts';
import { findCompany } from './accounts/organisation.ts';
import { addCommand, parseDuration, parseNumber } from './command.ts';
import { type CommandContext, withStore } from './context.ts';
import { EXIT_CODES, ExitCode, exitCodeOf, Failure } from './exit.ts';
import {
  cut,
  hasColours,
  printList,
  type Style,
  styled,
  widthOf,
  writeHint,
  writeJsonArray,
  writeLine,
} from './output.ts';

const BY = 'the operator';
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** A running service writes its log every 5 seconds. */
const FOLLOW_INTERVAL_MS = 1000;
const MAX_NAMED = 10;
const ANY_PLACE = 'COMPANY';

const NAME = { '<name>': 'its name or its id; `leadtap connections --json` has them' };

export function registerConnections(program: Command, context: CommandContext): void {
  const connections = addCommand(program, context, {
    name: 'connections',
    description: 'list all ways in and out: what was sent, waits, was missed, held and lost',
    options: {
      '--in': { text: 'only those that send leads', conflicts: 'out' },
      '--out': 'only those that leads go to',
      '--company <id>': 'only those of this company',
      '--silent <time>': {
        text: 'only those from which nothing was heard for this time (90s, 15m, 2h); exit code 1 if there are any',
        parse: parseDuration(1, Infinity, 'Write 90s, 15m, 2h or 1d.'),
      },
      '--json': 'print an array of connections',
    },
    help: `
A connection is what people call it: a user and a name. Tokens, webhooks and clients of an identity provider are its keys, and
come and go. Figures are of the leads of the last 30 days at most; what waits, was missed, held or lost counts whatever its
age, until it is sent, accepted, deleted or marked as handled. What was recorded in the last 5 seconds may be missing.

--json has the fields of \`in\` and \`out\` in GET {base_url}/automation/connections, and \`direction\`.`,
    examples: [
      'leadtap connections',
      'leadtap connections --out --company soleil --json',
      'leadtap connections --silent 15m > /dev/null || echo "an automation is silent"',
    ],
    run: listConnections,
  });
  addCommand(connections, context, {
    name: 'log',
    description: 'print what a connection was sent or has sent, when, and why it was refused',
    arguments: NAME,
    options: {
      '--limit <n>': {
        text: `at most n entries, up to ${MAX_LIMIT}`,
        parse: parseNumber(1, MAX_LIMIT),
        default: [DEFAULT_LIMIT, String(DEFAULT_LIMIT)],
      },
      '--follow': 'then print new entries as they come, until Ctrl+C',
      '--json': 'print an array of entries; with --follow, one entry on each line',
    },
    help: 'The oldest entry is first, times are in UTC. Equal requests in a row are one entry, with the time of the last one.',
    examples: ['leadtap connections log Zapier', 'leadtap connections log Zapier --follow --json'],
    run: printLog,
  });
  addCommand(connections, context, {
    name: 'rename',
    description: 'give a connection and its keys another name',
    arguments: { ...NAME, '<new-name>': 'the new name' },
    examples: ["leadtap connections rename 'Zapier 2' CRM"],
    run: (_context, _options, name: string, newName: string) =>
      withConnection(context, name, async (store, { id, name: old }) => {
        const renamed = await store.connections.rename(id, newName, BY);
        if (renamed === 'name-in-use')
          throw new Failure('bad-input', `another connection of its user is called ${quote(newName)}`);
        return `${printable(old)} is called ${printable(newName)} now.`;
      }),
  });
  addCommand(connections, context, {
    name: 'send',
    description: 'send leads to a webhook, again or for the first time',
    arguments: { ...NAME, '[lead...]': 'ids of leads' },
    options: {
      '--missed': 'all leads that it missed',
      '--owed-by <name>': 'the leads that another connection missed or waits for',
    },
    help: 'A receiver gets them in order, beside new ones. A person may be contacted twice.',
    examples: ['leadtap connections send CRM --missed', 'leadtap connections send CRM lead-17 lead-18'],
    run: (_context, { missed, owedBy }: SendOptions, name: string, given: readonly string[]) => {
      if ([missed, owedBy, given[0]].filter(Boolean).length !== 1)
        throw new Failure('usage', 'say which leads', 'Give --missed, --owed-by, or the ids of leads.');
      return withConnection(context, name, async (store, { id, name: shown }, sources) => {
        const leads = owedBy === undefined ? given : await readOwed(store, sources, owedBy);
        const count = await store.connections.sendAgain(id, missed ? 'missed' : leads, BY);
        if (count === undefined)
          throw new Failure(
            'bad-input',
            `${quote(shown)} polls: leads can be sent to webhooks only`,
            'Give the name of a webhook, or add one with `leadtap hooks add`.',
          );
        return `${plural(count, 'lead waits', 'leads wait')} for ${printable(shown)} now.`;
      });
    },
  });
  for (const [command, paused, text] of [
    ['pause', true, 'send nothing to a webhook until it is resumed; it keeps its place'],
    ['resume', false, 'send to a webhook again that was paused'],
  ] as const)
    addCommand(connections, context, {
      name: command,
      description: text,
      arguments: NAME,
      examples: [`leadtap connections ${command} CRM`],
      run: (_context, _options, name: string) =>
        withConnection(context, name, async (store, { id, name: shown }) => {
          if (!(await store.connections.setPaused(id, paused, BY)))
            throw new Failure('bad-input', `${quote(shown)} is no webhook: switch it off where it runs`);
          return `${printable(shown)} is ${paused ? 'paused' : 'resumed'}.`;
        }),
    });
  addCommand(connections, context, {
    name: 'handled',
    description: 'mark what a connection missed, owes or lost as handled: nothing is deleted',
    arguments: { '<name>': `its name or its id; \`${DOOR_ID}\` and \`${UNASSIGNED_ID}\` are ids, too` },
    options: { '--company <id>': `of \`${UNASSIGNED_ID}\`: the company` },
    help: `
What waits is taken only if the connection is silent, new or ended: it is then ended until it asks again. Held requests are
accepted or deleted: \`leadtap leads refused\`.`,
    examples: ['leadtap connections handled CRM', 'leadtap connections handled unassigned --company soleil'],
    run: handle,
  });
  addCommand(connections, context, {
    name: 'end',
    description: 'revoke all tokens and delete all webhooks of a connection',
    arguments: NAME,
    help: 'What waits for it stays owed, until it is sent to a connection of the same name or marked as handled.',
    examples: ['leadtap connections end CRM'],
    run: (_context, _options, name: string) =>
      withConnection(context, name, async (store, { id, name: shown }) => {
        const { tokens, hooks } = await store.connections.endKeys(id, BY);
        return `${printable(shown)} has ended: ${tokens} tokens are revoked, ${hooks} webhooks deleted.`;
      }),
  });
}

/** What the reports need, as a command knows it. */
export async function reportSourcesOf(
  store: Store,
  config: Config,
  { clock }: Pick<CommandContext, 'clock'>,
): Promise<ReportSources> {
  // Without a key file, nothing can be said about keys.
  const keys = await loadSigningKeys(config.signingKey, { create: false }).catch(() => undefined);
  return {
    ...{ connections: store.connections, clock, timeZone: config.timeZone ?? 'UTC' },
    silentAfterMs: config.silentAfterMs ?? DEFAULT_SILENT_AFTER_MS,
    acceptedKeys: keys ? acceptedKeysOf(keys, config.externalTokens) : [''],
    stoppedBy: createStopCheck(hookHostsOf(config)),
  };
}

interface SendOptions {
  readonly missed?: true;
  readonly owedBy?: string;
}

const OWED_PER_PAGE = 500;

/** The newest first. */
export async function* owedPages(
  store: Store,
  { id, companyId }: Connection,
): AsyncGenerator<readonly StoredLead[]> {
  for (let before: number | undefined, isFirst = true; isFirst || before !== undefined; isFirst = false) {
    const stamps = await store.connections.listOwed(id, before, OWED_PER_PAGE);
    const scope = { level: ANY_PLACE, companyId } as const;
    const found = await store.searchLeads({ scope, stamps, limit: OWED_PER_PAGE });
    yield found.leads;
    before = found.next;
  }
}

async function readOwed(store: Store, sources: ReportSources, name: string): Promise<readonly string[]> {
  const { connection } = (await findRow(sources, name)).facts;
  const ids: string[] = [];
  for await (const page of owedPages(store, connection)) ids.push(...page.map(({ lead }) => lead.id));
  return ids;
}

interface ListOptions {
  readonly in?: true;
  readonly out?: true;
  readonly company?: string;
  readonly silent?: number;
  readonly json?: true;
}

type Listed = (InConnection & { readonly direction: 'in' }) | (OutConnection & { readonly direction: 'out' });

const listConnections = (context: CommandContext, options: ListOptions): Promise<void> =>
  withStore(context, async (store, config) => {
    const { company: companyId, silent, json } = options;
    if (companyId !== undefined) await findCompany(store, companyId);
    const sources = await reportSourcesOf(store, config, context);
    const scope = companyId === undefined ? undefined : ({ level: ANY_PLACE, companyId } as const);
    const report = await readReport(sources, { companyId, scope, hasDoor: companyId === undefined });
    const now = context.clock();
    const listed = listedOf(report, options).filter(
      ({ lastAt, id }) =>
        silent === undefined ||
        (id !== DOOR_ID && id !== UNASSIGNED_ID && lastAt !== null && now - Date.parse(lastAt) > silent),
    );
    async function* pages() {
      yield listed;
    }
    if (!json && silent === undefined) await writeLine(context.stderr, report.message);
    await printList(context, pages(), json, {
      toJson: (one) => one,
      headings: ['', 'NAME', 'USER', 'LAST', 'WHAT', 'ID'],
      toRow: (one) => toRow(one, now),
    });
    if (listed.length > 0 && silent !== undefined) throw new ExitCode(EXIT_CODES.failed);
    const empty = silent === undefined ? 'There is no connection yet.' : 'No connection is silent.';
    if (listed.length === 0 && !json) await writeLine(context.stderr, empty);
  });

const listedOf = (report: Report, options: ListOptions): readonly Listed[] => [
  ...(options.out ? [] : report.in.map((one) => ({ direction: 'in', ...one }) as const)),
  ...(options.in ? [] : report.out.map((one) => ({ direction: 'out', ...one }) as const)),
];

const SIGNS: Readonly<Record<Listed['level'], string>> = {
  error: '✗',
  warning: '!',
  unknown: '·',
  good: '✓',
};

const toRow = (
  { direction, level, name, userId, lastAt, message, id }: Listed,
  now: number,
): (string | null)[] => [
  `${direction === 'in' ? '→' : '←'} ${SIGNS[level]}`,
  name,
  userId,
  lastAt === null ? 'never' : `${formatDuration((now - Date.parse(lastAt)) / 1000)} ago`,
  message,
  id,
];

/** Does one thing with the connection of this name, and prints what was done. */
const withConnection = (
  context: CommandContext,
  name: string,
  work: (store: Store, connection: Connection, sources: ReportSources) => Promise<string | undefined>,
): Promise<void> =>
  withStore(context, async (store, config) => {
    const sources = await reportSourcesOf(store, config, context);
    const { connection } = (await findRow(sources, name)).facts;
    const done = await work(store, connection, sources);
    if (done !== undefined) await writeLine(context.stdout, done);
  });

export async function findRow(sources: ReportSources, wanted: string): Promise<JudgedRow> {
  const { rows } = await readReport(sources, { hasDoor: true });
  const real = rows.filter(({ facts }) => facts.connection.id !== UNASSIGNED_ID);
  const byId = real.find(({ facts }) => facts.connection.id === wanted);
  if (byId) return byId;
  const named = real.filter(({ facts }) => facts.connection.name === wanted);
  const [found] = named;
  if (found && named.length === 1) return found;
  const describe = ({ facts: { connection } }: JudgedRow): string =>
    `${connection.id}  ${printable(connection.name)} (${connection.kind}, user ${connection.userId})`;
  if (found)
    throw new Failure(
      'bad-input',
      `${named.length} connections are called ${quote(wanted)}`,
      'Give the id of one instead of the name:',
      ...named.map(describe),
    );
  throw new Failure(
    'not-found',
    `no connection is called ${quote(wanted)}`,
    ...(real.length > 0 ? ['There are these:', ...real.slice(0, MAX_NAMED).map(describe)] : []),
    '`leadtap connections` shows all.',
  );
}

async function handle(
  context: CommandContext,
  { company }: { readonly company?: string },
  name: string,
): Promise<void> {
  if (name === UNASSIGNED_ID) return handleUnassigned(context, company);
  if (name !== DOOR_ID)
    return withConnection(context, name, async (_store, { id, name: shown }, sources) => {
      await markHandled(sources, id, BY);
      return `What ${printable(shown)} missed, owes or lost is marked as handled.`;
    });
  await withStore(context, async ({ connections }) => connections.handleDoor());
  await writeLine(context.stdout, 'The requests with unknown tokens are marked as handled.');
}

const handleUnassigned = (context: CommandContext, company: string | undefined): Promise<void> =>
  withStore(context, async ({ connections }) => {
    const [only, ...others] = (await connections.listUnassigned(company)).map(({ companyId }) => companyId);
    if (only === undefined) throw new Failure('not-found', 'no lead is unassigned');
    const fix = `Give --company: ${[only, ...others].slice(0, MAX_NAMED).join(', ')}`;
    if (others.length > 0) throw new Failure('usage', 'say of which company', fix);
    await connections.handleUnassigned(only);
    await writeLine(context.stdout, `The unassigned leads of ${printable(only)} are marked as handled.`);
  });

interface LogOptions {
  readonly limit: number;
  readonly follow?: true;
  readonly json?: true;
}

const printLog = (
  context: CommandContext,
  { limit, follow, json }: LogOptions,
  name: string,
): Promise<void> =>
  withConnection(context, name, async (store, connection) => {
    const { clock, signal, stdout } = context;
    const scope = { level: ANY_PLACE, companyId: connection.companyId } as const;
    const read = async (limit: number): Promise<LogEntry[]> => {
      const entries = await store.connections.readLog(connection.id, { before: undefined, limit, scope });
      return entries.map((entry) => toLogEntry(entry, connection, clock())).reverse();
    };
    const first = await read(limit);
    const print = async (entries: readonly LogEntry[]): Promise<void> => {
      for (const entry of entries)
        await writeLine(stdout, json ? escapeJson(JSON.stringify(entry)) : formatEntry(entry, context));
    };
    if (json && !follow) await writeJsonArray(stdout, [first]);
    else await print(first);
    if (!follow) {
      const advice = first.length === 0 ? 'The log has no entry.' : first.at(-1)?.fix;
      if (advice && !json) await writeHint(context, advice);
      return undefined;
    }
    for (let seen = first; ; ) {
      await sleep(FOLLOW_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw exitCodeOf(signal);
      const log = await read(MAX_LIMIT);
      await print(log.filter(({ firstAt }) => !seen.some((entry) => entry.firstAt === firstAt)));
      seen = log;
    }
  });

const MARKS: Readonly<Record<LogEntry['kind'], { readonly mark: string; readonly style: Style }>> = {
  leads: { mark: '✓', style: 'green' },
  empty: { mark: '·', style: 'gray' },
  refused: { mark: '✗', style: 'red' },
  failed: { mark: '✗', style: 'red' },
  changed: { mark: '•', style: 'bold' },
};

/** `2026-03-02T12:03:07Z ✗ 401 the access token has expired`. At a terminal, one line is enough for each. */
function formatEntry(entry: LogEntry, { stdout, env }: CommandContext): string {
  const { at, firstAt, times, kind, message, reason } = entry;
  const { mark, style } = MARKS[kind];
  const since = times > 1 ? `, since ${secondsOf(firstAt)}` : '';
  const text = printable(`${message}${since}${reason === null ? '' : `: ${reason}`}`);
  const begin = `${secondsOf(at)} `;
  const shown = stdout.isTTY ? cut(text, widthOf(stdout) - begin.length - mark.length - 1) : text;
  return `${begin}${hasColours(stdout, env) ? styled(style, mark) : mark} ${shown}`;
}

/** `2026-03-02T12:03:07Z` */
const secondsOf = (iso: string): string => `${iso.slice(0, 19)}Z`;
