import type { Command } from 'commander';
import { positionOf } from '../../consumers/store.ts';
import { toIsoOrNull } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/formats.ts';
import { logOfConsumer } from '../../status/attempt-log.ts';
import { isAccepted } from '../../status/consumer-hooks.ts';
import {
  consumerFactsOf,
  consumerStateOf,
  isStuck,
  type ListedConsumer,
  leadHookOf,
  listedConsumerPages,
  pendingOf,
  positionOfLeadHook,
  publicIdOf,
  silenceOf,
  toConsumerJson,
  toGapsJson,
} from '../../status/consumer-states.ts';
import { findCompany } from '../accounts/organisation.ts';
import { type Logged, registerLog } from '../attempt-log.ts';
import { addCommand, parseDuration } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { EXIT_CODES, ExitCode } from '../exit.ts';
import { printList, writeLine } from '../output.ts';
import { registerForget } from './forget.ts';
import { consumerSourcesOf, requireConsumers } from './sources.ts';

export function registerConsumers(program: Command, context: CommandContext): void {
  const consumers = addCommand(program, context, {
    name: 'consumers',
    description: 'list who polls, when each last polled, and how many leads wait for it',
    options: {
      '--company <id>': 'only the consumers of this company',
      '--stale [time]': {
        text: 'only those that have not polled for this time (90s, 15m, 2h); without a time, the stale ones; exit code 1 if there are any',
        parse: parseDuration(1, Infinity, 'Write 90s, 15m, 2h or 1d.'),
      },
      '--json': 'print an array of consumers',
    },
    help: `
Every token that polls is a consumer, and so is every webhook subscription that sends leads. POSITION is the createdAt of the newest lead that the consumer has got or
confirmed; WAITING is the number of later leads that it may see. Positions are at most 5 seconds old. WEBHOOK is the
state of its webhook subscription and the time of the last event; \`leadtap hooks list\` has more. A consumer with the
state subscribed has a webhook subscription and has not polled yet. One that is stuck polls from the same place again and
again: it has received leads and does not confirm them (state active in --json, with isStuck).
A consumer is stale when it has not polled for 1.5 times its usual interval, or for LEADTAP_SILENT_AFTER, and as long as leads wait
for it. Fewer than three polls, or less than ten minutes of them, make no consumer stale, unless leads wait for more than a day
after three polls. Time in which the service was unavailable makes none stale. With a
time, such as --stale 15m, all consumers are listed that have not polled for so long. For a consumer with a webhook
subscription, the time begins with the first lead that waits. Revoke a token that is no longer used: it is listed then
only while it still polls. To keep the token, use \`leadtap consumers forget\`. \`leadtap consumers log NAME\` shows what one
of them received, and why it was refused.

--json has id, tokenId, name, userId, companyId, state, tokenExpiresAt (null: never), firstPollAt, lastPollAt, lastStatus,
polls, usualIntervalSeconds, confirmedThrough, deliveredThrough, waiting (at most 100,000), waitingSince (the createdAt of
the first of them), skipped and skippedSince (leads that it asked past without being sent them),
missedLeads (those of them that it could not see when it got later leads: they were moved, or its access was widened), unconfirmedSince (the
createdAt of the first lead that was sent and not confirmed), isStuck (it polls, and sends no later since), gaps: [{ after, through,
isBeforeStart }] with those leads, tokenEnded (revoked, expired or key-removed: the last poll was refused with 401), isAwaited
(it has not polled since the service was unavailable, or its last poll is of the future), isUnrecorded (LEADTAP_CONSUMERS was off since its last poll), last24h: the last 24 hours, each { leads, failed } or null (not known), the current one last, and hook: { count, state, announcedThrough, lastEventAt, lastStatus, failures } of its webhook subscription with the worst state, or null.`,
    examples: [
      'leadtap consumers',
      'leadtap consumers --company soleil --json',
      'leadtap consumers --stale 15m > /dev/null || echo "a consumer has stopped polling"',
    ],
    run: listConsumers,
  });
  registerLog(consumers, context, {
    group: 'consumers',
    description: 'print what a consumer received, when, and why it was refused',
    help: `
The last 100 entries of 30 days: leads that were sent to it, its refused polls and what its webhook's receiver answered, the first
success after these, and how many polls had no new leads in between.`,
    async *pages(store, config, now) {
      requireConsumers(config);
      const sources = await consumerSourcesOf(store, config);
      for await (const page of listedConsumerPages(sources, { now, maxPendingLeads: 1 }))
        yield page.map((listed): Logged => ({ ...listed, ...logOfConsumer(listed) }));
    },
  });
  registerForget(consumers, context);
}

interface ConsumersOptions {
  readonly company?: string;
  /** True: by the usual interval of each consumer. */
  readonly stale?: number | true;
  readonly json?: true;
}

/** More pending leads are not counted. */
const MAX_PENDING_LEADS = 100_000;

const listConsumers = (context: CommandContext, options: ConsumersOptions): Promise<void> =>
  withStore(context, async (store, config) => {
    const { company: companyId, stale, json } = options;
    requireConsumers(config);
    if (companyId !== undefined) await findCompany(store, companyId);
    const now = context.clock();
    const { silentAfterMs: staleAfterMs } = config;
    const isListed = (listed: ListedConsumer): boolean => {
      if (stale === undefined) return true;
      return stale === true
        ? consumerStateOf(listed, now, staleAfterMs) === 'stale'
        : silenceOf(listed, now, stale) > stale;
    };
    async function* pages() {
      const query = { companyId, now, maxPendingLeads: MAX_PENDING_LEADS };
      for await (const page of listedConsumerPages(await consumerSourcesOf(store, config), query))
        yield page.filter(isListed);
    }
    const hasCompany = companyId === undefined;
    const count = await printList(context, pages(), json, {
      toJson: (listed) => toJson(listed, now, staleAfterMs),
      headings: [
        ...['TOKEN', 'NAME', 'USER', 'STATE', 'WAITING', 'LAST POLL', 'STATUS', 'INTERVAL', 'POSITION'],
        ...['WEBHOOK', ...(hasCompany ? ['COMPANY'] : [])],
      ],
      toRow: (listed) => toRow(listed, hasCompany, now, staleAfterMs),
    });
    if (count > 0 && stale !== undefined) throw new ExitCode(EXIT_CODES.failed);
    const message = stale === undefined ? 'There is no consumer.' : 'No consumer is stale.';
    if (count === 0 && !json) await writeLine(context.stderr, message);
  });

const toJson = (listed: ListedConsumer, now: number, staleAfterMs: number | undefined) => ({
  id: publicIdOf(listed),
  ...toConsumerJson(consumerFactsOf(listed, now, staleAfterMs)),
  polls: listed.consumer?.polls ?? 0,
  gaps: toGapsJson(listed),
});

function toRow(
  listed: ListedConsumer,
  hasCompany: boolean,
  now: number,
  staleAfterMs: number | undefined,
): (string | null)[] {
  const { tokenId, name, userId, companyId, consumer, hook } = listed;
  const intervalMs = consumer?.intervalMs ?? null;
  const pendingLeads = pendingOf(listed)?.pendingLeads ?? (leadHookOf(listed) ? 0 : undefined);
  const ago = (time: number): string => `${formatDuration((now - time) / 1000)} ago`;
  const leadHook = leadHookOf(listed);
  const sent = leadHook ? `leads to ${leadHook.host}` : 'event';
  const tried = leadHook && !isAccepted(leadHook) ? ' tried' : '';
  const lastEvent = hook?.lastEventAt ? `${sent}${tried} ${ago(hook.lastEventAt)}` : `no ${sent} yet`;
  return [
    ...[
      tokenId,
      name,
      userId,
      isStuck(listed, now, staleAfterMs) ? 'stuck' : consumerStateOf(listed, now, staleAfterMs),
    ],
    pendingLeads === MAX_PENDING_LEADS ? `${MAX_PENDING_LEADS}+` : (pendingLeads?.toString() ?? null),
    consumer ? ago(consumer.lastPollAt) : leadHook ? null : 'never',
    consumer ? String(consumer.lastStatus) : null,
    intervalMs === null ? null : formatDuration(intervalMs / 1000),
    toIsoOrNull(consumer ? positionOf(consumer) : positionOfLeadHook(leadHook)?.confirmedThrough),
    hook ? `${hook.state}, ${lastEvent}` : null,
    ...(hasCompany ? [companyId] : []),
  ];
}
