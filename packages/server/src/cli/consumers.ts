import { type Command, InvalidArgumentError } from 'commander';
import { toDurationMs, toIso, toIsoOrNull } from '../clock.ts';
import { activityOf, consumerPages, seenAt } from '../leads/consumers.ts';
import { formatDuration } from '../status/formats.ts';
import { type Consumer, positionOf } from '../store/consumers.ts';
import type { Store } from '../store/store.ts';
import { findCompany, requirePart } from './company.ts';
import { type CommandContext, withStore } from './context.ts';
import { EXIT_CODES, ExitCode } from './exit.ts';
import { Failure } from './failure.ts';
import { Table, writeJsonArray, writeLine } from './output.ts';

const HELP = `
Every token that polls is a consumer. POSITION is the createdAt of the newest lead that the consumer has got or
confirmed; WAITING is the number of later leads that it may see. Positions are at most 5 seconds old.
A consumer is stale when it has not polled for 1.5 times its usual interval, or for LEADTAP_STALE_AFTER. With a
time, such as --stale 15m, all consumers are listed that have not polled for so long. Revoke a token that is no longer used: it is not listed then.

Examples:
  leadtap consumers
  leadtap consumers --company soleil --json
  leadtap consumers --stale 15m > /dev/null || echo "a consumer has stopped polling"`;

interface ConsumersOptions {
  readonly company?: string;
  /** True: by the usual interval of each consumer. */
  readonly stale?: number | true;
  readonly json?: true;
}

function parseSilence(text: string): number {
  const silenceMs = toDurationMs(text);
  if (silenceMs !== undefined) return silenceMs;
  throw new InvalidArgumentError('Write 90s, 15m, 2h or 1d.');
}

export function registerConsumers(program: Command, context: CommandContext): void {
  program
    .command('consumers')
    .description('list who polls, when each last polled, and how many leads wait for it')
    .option('--company <id>', 'only the consumers of this company')
    .option(
      '--stale [time]',
      'only those that have not polled for this time (90s, 15m, 2h); without a time, the stale ones; exit code 1 if there are any',
      parseSilence,
    )
    .option('--json', 'print an array of consumers')
    .addHelpText('after', HELP)
    .action((options: ConsumersOptions) =>
      withStore(context, async (store, config) => {
        if (!config.consumers) throw switchedOff();
        if (options.company !== undefined) await findCompany(store, options.company, context.signal);
        await printConsumers(store, options, context, config.staleAfterMs);
      }),
    );
}

const switchedOff = (): Failure =>
  new Failure(
    'configuration',
    'LEADTAP_CONSUMERS is off, so it is not recorded who polls',
    'Set LEADTAP_CONSUMERS=on for the service and for this command, and start the service again.',
  );

/** More pending leads are not counted. */
export const MAX_PENDING_LEADS = 100_000;

async function* listedPages(
  store: Store,
  { company: companyId, stale }: ConsumersOptions,
  { clock, signal }: CommandContext,
  staleAfterMs: number | undefined,
): AsyncGenerator<readonly Consumer[]> {
  const now = clock();
  const isListed = (consumer: Consumer): boolean => {
    if (stale === undefined) return true;
    return stale === true
      ? activityOf(consumer, now, staleAfterMs) === 'stale'
      : now - seenAt(consumer, now) > stale;
  };
  requirePart(store.consumers);
  for await (const page of consumerPages(store, { companyId, now, maxPendingLeads: MAX_PENDING_LEADS })) {
    signal.throwIfAborted();
    yield page.filter(isListed);
  }
}

async function printConsumers(
  store: Store,
  options: ConsumersOptions,
  context: CommandContext,
  staleAfterMs: number | undefined,
): Promise<void> {
  const { stdout, stderr, clock } = context;
  const { company, stale, json } = options;
  let count = 0;
  async function* counted(): AsyncGenerator<readonly Consumer[]> {
    for await (const page of listedPages(store, options, context, staleAfterMs)) {
      count += page.length;
      yield page;
    }
  }
  if (json) await writeJsonArray(stdout, toJsonPages(counted(), clock(), staleAfterMs));
  else await printTable(counted(), company === undefined, context, staleAfterMs);
  if (count > 0 && stale !== undefined) throw new ExitCode(EXIT_CODES.failed);
  if (count > 0 || json) return;
  const message = stale === undefined ? 'No token has polled yet.' : 'No consumer is stale.';
  await writeLine(stderr, message);
}

async function* toJsonPages(
  pages: AsyncIterable<readonly Consumer[]>,
  now: number,
  staleAfterMs: number | undefined,
) {
  for await (const page of pages) yield page.map((consumer) => toJson(consumer, now, staleAfterMs));
}

/** A consumer as `--json` prints it. */
export const toJson = (consumer: Consumer, now: number, staleAfterMs?: number) => ({
  tokenId: consumer.tokenId,
  name: consumer.name,
  userId: consumer.userId,
  companyId: consumer.user.companyId,
  state: activityOf(consumer, now, staleAfterMs),
  lastPollAt: toIso(consumer.lastPollAt),
  lastStatus: consumer.lastStatus,
  polls: consumer.polls,
  usualIntervalSeconds: consumer.intervalMs === null ? null : consumer.intervalMs / 1000,
  confirmedThrough: toIsoOrNull(consumer.confirmedThrough),
  deliveredThrough: toIsoOrNull(consumer.deliveredThrough),
  waiting: consumer.pendingLeads,
  waitingSince: toIsoOrNull(consumer.pendingSince),
});

async function printTable(
  pages: AsyncIterable<readonly Consumer[]>,
  hasCompany: boolean,
  { stdout, clock }: CommandContext,
  staleAfterMs: number | undefined,
): Promise<void> {
  const now = clock();
  const headings = [
    ...['TOKEN', 'NAME', 'USER', ...(hasCompany ? ['COMPANY'] : [])],
    ...['STATE', 'LAST POLL', 'STATUS', 'INTERVAL', 'POSITION', 'WAITING'],
  ];
  const table = new Table(stdout, headings, ['NAME', 'COMPANY', 'USER', 'TOKEN']);
  for await (const page of pages)
    await table.add(page.map((consumer) => toCells(consumer, hasCompany, now, staleAfterMs)));
}

function toCells(
  consumer: Consumer,
  hasCompany: boolean,
  now: number,
  staleAfterMs: number | undefined,
): (string | null)[] {
  const { tokenId, name, userId, user, lastPollAt, lastStatus, intervalMs, pendingLeads } = consumer;
  return [
    ...[tokenId, name, userId, ...(hasCompany ? [user.companyId] : [])],
    activityOf(consumer, now, staleAfterMs),
    `${formatDuration((now - lastPollAt) / 1000)} ago`,
    String(lastStatus),
    intervalMs === null ? null : formatDuration(intervalMs / 1000),
    toIsoOrNull(positionOf(consumer)),
    formatCount(pendingLeads),
  ];
}

const formatCount = (count: number): string =>
  count >= MAX_PENDING_LEADS ? `${MAX_PENDING_LEADS}+` : String(count);

/** The name of a consumer for people: that of its token, or the id of it. */
export const describeConsumer = ({ name, tokenId, userId }: Consumer): string =>
  `${name ?? (tokenId === null ? 'a token without an id' : `token ${tokenId}`)} (user ${userId})`;
