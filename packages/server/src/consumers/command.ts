import { type Command, InvalidArgumentError } from 'commander';
import { findCompany, requirePart } from '../cli/company.ts';
import { type CommandContext, withStore } from '../cli/context.ts';
import { EXIT_CODES, ExitCode } from '../cli/exit.ts';
import { Failure } from '../cli/failure.ts';
import { TABLE_HELP, Table, writeJsonArray, writeLine } from '../cli/output.ts';
import { SHORT_IDS_HELP } from '../cli/short-ids.ts';
import { toDurationMs, toIsoOrNull } from '../clock.ts';
import type { Config } from '../config.ts';
import { formatDuration } from '../status/formats.ts';
import type { Store } from '../store/store.ts';
import type { ConsumerHook } from './consumer-hooks.ts';
import {
  type ConsumerSources,
  consumerStateOf,
  type ListedConsumer,
  listedConsumerPages,
  pendingOf,
  silenceOf,
  toConsumerJson,
  toGapsJson,
} from './states.ts';
import { type Consumer, positionOf } from './store.ts';

const HELP = `
Every token that polls is a consumer. POSITION is the createdAt of the newest lead that the consumer has got or
confirmed; WAITING is the number of later leads that it may see. Positions are at most 5 seconds old. WEBHOOK is the
state of its webhook subscription and the time of the last event; \`leadtap hooks list\` has more. A consumer with the
state subscribed has a webhook subscription and has not polled yet.
A consumer is stale when it has not polled for 1.5 times its usual interval, or for LEADTAP_STALE_AFTER. Fewer than five polls,
or less than ten minutes of them, make no consumer stale, and neither does time in which the service was unavailable. With a
time, such as --stale 15m, all consumers are listed that have not polled for so long. For a consumer with a webhook
subscription, the time begins with the first lead that waits. Revoke a token that is no longer used: it is listed then
only while it still polls.
${SHORT_IDS_HELP}
${TABLE_HELP}

--json has tokenId, name, userId, companyId, state, tokenExpiresAt (null: never), firstPollAt, lastPollAt, lastStatus,
polls, usualIntervalSeconds, confirmedThrough, deliveredThrough, waiting (at most 100,000), waitingSince (the createdAt of
the first of them), skipped and skippedSince (leads that it asked past without being sent them), unconfirmedSince (the
createdAt of the first lead that was sent and not confirmed), isStuck (it polls, and sends no later since), gaps: [{ after, through,
isBeforeStart }] with those leads, tokenEnded (revoked, expired or key-removed: the last poll was refused with 401), isAwaited
(it has not polled since the service was unavailable, or its last poll is of the future), and hook: { count, state, announcedThrough, lastEventAt, lastStatus, failures } of its webhook subscription with the worst state, or null.

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
        await printConsumers(sourcesOf(store, config), options, context, config.staleAfterMs);
      }),
    );
}

export const sourcesOf = (store: Store, config: Pick<Config, 'hooks'>): ConsumerSources => ({
  consumers: requirePart(store.consumers),
  hooks: config.hooks ? store.hooks : undefined,
  leads: store,
});

const switchedOff = (): Failure =>
  new Failure(
    'configuration',
    'LEADTAP_CONSUMERS is off, so it is not recorded who polls',
    'Set LEADTAP_CONSUMERS=on for the service and for this command, and start the service again.',
  );

/** More pending leads are not counted. */
export const MAX_PENDING_LEADS = 100_000;

async function* listedPages(
  sources: ConsumerSources,
  { company: companyId, stale }: ConsumersOptions,
  { clock, signal }: CommandContext,
  staleAfterMs: number | undefined,
): AsyncGenerator<readonly ListedConsumer[]> {
  const now = clock();
  const isListed = (listed: ListedConsumer): boolean => {
    if (stale === undefined) return true;
    return stale === true
      ? consumerStateOf(listed, now, staleAfterMs) === 'stale'
      : silenceOf(listed, now, stale) > stale;
  };
  const query = { companyId, now, maxPendingLeads: MAX_PENDING_LEADS };
  for await (const page of listedConsumerPages(sources, query)) {
    signal.throwIfAborted();
    yield page.filter(isListed);
  }
}

async function printConsumers(
  sources: ConsumerSources,
  options: ConsumersOptions,
  context: CommandContext,
  staleAfterMs: number | undefined,
): Promise<void> {
  const { stdout, stderr, clock } = context;
  const { company, stale, json } = options;
  let count = 0;
  async function* counted(): AsyncGenerator<readonly ListedConsumer[]> {
    for await (const page of listedPages(sources, options, context, staleAfterMs)) {
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
  pages: AsyncIterable<readonly ListedConsumer[]>,
  now: number,
  staleAfterMs: number | undefined,
) {
  for await (const page of pages)
    yield page.map((listed) => ({
      ...toConsumerJson(listed, now, staleAfterMs),
      polls: listed.consumer?.polls ?? 0,
      firstPollAt: toIsoOrNull(listed.consumer?.firstPollAt ?? null),
      gaps: toGapsJson(listed.consumer?.gaps ?? []),
    }));
}

async function printTable(
  pages: AsyncIterable<readonly ListedConsumer[]>,
  hasCompany: boolean,
  { stdout, clock }: CommandContext,
  staleAfterMs: number | undefined,
): Promise<void> {
  const now = clock();
  const headings = [
    ...['TOKEN', 'NAME', 'USER', ...(hasCompany ? ['COMPANY'] : [])],
    ...['STATE', 'LAST POLL', 'STATUS', 'INTERVAL', 'POSITION', 'WAITING', 'WEBHOOK'],
  ];
  const shortened = ['NAME', 'COMPANY', 'USER', 'POSITION', 'WEBHOOK', 'TOKEN'];
  const optional = ['INTERVAL', 'COMPANY', 'POSITION', 'WEBHOOK', 'STATUS'];
  const table = new Table(stdout, headings, { ids: ['TOKEN'], shortened, optional });
  for await (const page of pages)
    await table.add(page.map((listed) => toCells(listed, hasCompany, now, staleAfterMs)));
}

function toCells(
  listed: ListedConsumer,
  hasCompany: boolean,
  now: number,
  staleAfterMs: number | undefined,
): (string | null)[] {
  const { tokenId, name, userId, companyId, consumer, hook } = listed;
  const intervalMs = consumer?.intervalMs ?? null;
  const pending = pendingOf(listed);
  return [
    ...[tokenId, name, userId, ...(hasCompany ? [companyId] : [])],
    consumerStateOf(listed, now, staleAfterMs),
    consumer ? ago(consumer.lastPollAt, now) : 'never',
    consumer ? String(consumer.lastStatus) : null,
    intervalMs === null ? null : formatDuration(intervalMs / 1000),
    consumer ? toIsoOrNull(positionOf(consumer)) : null,
    pending ? formatCount(pending.pendingLeads) : null,
    hook ? describeHook(hook, now) : null,
  ];
}

const ago = (time: number, now: number): string => `${formatDuration((now - time) / 1000)} ago`;

/** `active, event 3 min ago` */
const describeHook = ({ state, lastEventAt }: ConsumerHook, now: number): string =>
  `${state}, ${lastEventAt === null ? 'no event yet' : `event ${ago(lastEventAt, now)}`}`;

const formatCount = (count: number): string =>
  count >= MAX_PENDING_LEADS ? `${MAX_PENDING_LEADS}+` : String(count);

/** The name of a consumer for people: that of its token, or the id of it. */
export const describeConsumer = ({
  name,
  tokenId,
  userId,
}: Pick<Consumer, 'name' | 'tokenId' | 'userId'>): string =>
  `${name ?? (tokenId === null ? 'a token without an id' : `token ${tokenId}`)} (user ${userId})`;
