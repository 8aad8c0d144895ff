/** `leadtap consumers log` and `leadtap senders log`: the same entries as over HTTP, the oldest first. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attempt } from '@leadtap/contract';
import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config.ts';
import { escapeJson, printable, quote } from '../lib/escape.ts';
import { type LogSubject, readLog } from '../status/attempt-log.ts';
import type { Store } from '../store/store.ts';
import { addCommand } from './command.ts';
import { type CommandContext, withStore } from './context.ts';
import { exitCodeOf } from './exit.ts';
import { Failure } from './failure.ts';
import { withInvocation } from './invocation.ts';
import { cut, hasColours, type Style, styled, widthOf, writeJsonArray, writeLine } from './output.ts';

/** A consumer or a sender. */
export interface Logged extends LogSubject {
  readonly name: string | null;
  readonly tokenId: string | null;
  readonly userId: string;
}

interface LogCommand {
  /** Of the command that lists them. */
  readonly group: 'consumers' | 'senders';
  readonly description: string;
  readonly help: string;
  readonly pages: (store: Store, config: Config, now: number) => AsyncIterable<readonly Logged[]>;
}

interface LogOptions {
  readonly limit: number;
  readonly follow?: true;
  readonly json?: true;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** A running service writes its log every 5 seconds. */
const FOLLOW_INTERVAL_MS = 1000;

export function registerLog(parent: Command, context: CommandContext, spec: LogCommand): void {
  const { group, description, help } = spec;
  addCommand(parent, context, {
    name: 'log',
    description,
    arguments: { '<name>': `its name, the id of its token, or its id; \`leadtap ${group} --json\` has them` },
    options: {
      '--limit <n>': {
        text: `at most n entries, up to ${MAX_LIMIT}`,
        parse: parseLimit,
        default: [DEFAULT_LIMIT, String(DEFAULT_LIMIT)],
      },
      '--follow': 'then print new entries as they come, until Ctrl+C',
      '--json': 'print an array of entries; with --follow, one entry on each line',
    },
    help: `
${help.trim()}
The oldest entry is first, times are in UTC. Equal attempts in a row are one entry, with the time of the last one. A
running service writes its log every 5 seconds.

--follow prints each entry once, when it is first seen: one that is repeated is not printed again, and polls without new
leads are printed when another entry follows them.

--json has the entries of GET {base_url}/automation/${group}/{id}/log: at, firstAt, times, kind (leads, empty, refused, failed or
recovered), status, code, leads, since, through, durationMs, heldMs, reason, nextTryAt, fields, message and fix.`,
    examples: [`leadtap ${group} log Zapier`, `leadtap ${group} log Zapier --follow --json`],
    run: (_context, options: LogOptions, name: string) => printLog(context, spec, options, name),
  });
}

function parseLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new InvalidArgumentError(`Give a whole number from 1 to ${MAX_LIMIT}.`);
}

const printLog = (context: CommandContext, spec: LogCommand, options: LogOptions, name: string) =>
  withStore(context, async (store, config) => {
    const { clock, stdout, stderr } = context;
    const { limit, follow, json } = options;
    const found = await findLogged(spec.pages(store, config, clock()), name, spec.group, context);
    if (follow) return followLog(context, store, found, options);
    const log = (await readLog(store.attempts, found, { limit, now: clock() })).reverse();
    if (json) return writeJsonArray(stdout, [log]);
    for (const entry of log) await writeLine(stdout, formatEntry(entry, context));
    if (log.length === 0) await writeLine(stderr, NO_ENTRIES);
    const fix = log.at(-1)?.fix;
    if (fix) await writeLine(stderr, withInvocation(fix, context));
  });

const NO_ENTRIES = 'The log has no entry: nothing was recorded in the last 30 days.';

/** Reads until the signal aborts. */
async function followLog(
  context: CommandContext,
  store: Store,
  found: Logged,
  { limit, json }: LogOptions,
): Promise<void> {
  const { clock, signal, stdout } = context;
  // Polls after the last entry are not counted yet.
  const subject: LogSubject = { ...found, polls: undefined };
  let seen: ReadonlySet<string> | undefined;
  for (;;) {
    const log = (await readLog(store.attempts, subject, { limit: MAX_LIMIT, now: clock() })).reverse();
    const added = seen === undefined ? log.slice(-limit) : log.filter((entry) => !seen?.has(keyOf(entry)));
    for (const entry of added)
      await writeLine(stdout, json ? escapeJson(JSON.stringify(entry)) : formatEntry(entry, context));
    seen = new Set(log.map(keyOf));
    await sleep(FOLLOW_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) throw exitCodeOf(signal);
  }
}

/** An entry that is counted up keeps it. */
const keyOf = ({ kind, firstAt, status, code, since, fields }: Attempt): string =>
  JSON.stringify([kind, firstAt, status, code, since, fields]);

const MAX_NAMED = 10;

/** The one with this name, this id of its token, or this public id. */
async function findLogged(
  pages: AsyncIterable<readonly Logged[]>,
  wanted: string,
  group: LogCommand['group'],
  { signal }: CommandContext,
): Promise<Logged> {
  const named: Logged[] = [];
  const others: Logged[] = [];
  for await (const page of pages)
    for (const logged of page) {
      signal.throwIfAborted();
      if (logged.subject === wanted) return logged;
      if ([logged.name, logged.tokenId].includes(wanted)) named.push(logged);
      else if (others.length <= MAX_NAMED) others.push(logged);
    }
  const [found] = named;
  if (found && named.length === 1) return found;
  const describe = ({ subject, name, tokenId, userId, companyId }: Logged): string =>
    `${subject}  ${printable(name ?? tokenId ?? 'a token without a name')} (user ${userId}, company ${companyId})`;
  if (found)
    throw new Failure(
      'bad-input',
      `${named.length} ${group} are called ${quote(wanted)}`,
      'Give the id of one instead of the name:',
      ...named.map(describe),
    );
  const fix = [
    ...(others.length > 0 ? ['There are these:'] : []),
    ...others.slice(0, MAX_NAMED).map(describe),
    `\`leadtap ${group}\` shows all.`,
  ];
  throw new Failure('not-found', `no ${group.slice(0, -1)} is called ${quote(wanted)}`, ...fix);
}

const MARKS: Readonly<Record<Attempt['kind'], { readonly mark: string; readonly style: Style }>> = {
  leads: { mark: '✓', style: 'green' },
  recovered: { mark: '✓', style: 'green' },
  empty: { mark: '·', style: 'gray' },
  refused: { mark: '✗', style: 'red' },
  failed: { mark: '✗', style: 'red' },
};

/** `2026-03-02T12:03:07Z ✗ 401 the access token has expired`. At a terminal, one line is enough for each. */
function formatEntry(entry: Attempt, { stdout, env }: CommandContext): string {
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
