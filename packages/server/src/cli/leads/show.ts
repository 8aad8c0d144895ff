import { LEAD_FIELDS, type Lead, type LeadFieldName } from '@leadtap/contract';
import type { Command } from 'commander';
import type { StoredLead } from '../../leads/record.ts';
import { toWire } from '../../leads/render.ts';
import { toIso } from '../../lib/clock.ts';
import { printable } from '../../lib/escape.ts';
import { formatDuration } from '../../lib/formats.ts';
import { isJsonObject } from '../../lib/json.ts';
import { isAccepted } from '../../status/consumer-hooks.ts';
import {
  type ConsumerSources,
  isStuck,
  type ListedConsumer,
  leadHookOf,
} from '../../status/consumer-states.ts';
import {
  findLeadConsumers,
  findRemovedReceivers,
  type LeadConsumer,
  type RemovedReceiver,
} from '../../status/lead-states.ts';
import type { Store } from '../../store/store.ts';
import { addCommand } from '../command.ts';
import { consumerSourcesOf, describeConsumer } from '../consumers/sources.ts';
import { type CommandContext, withStore } from '../context.ts';
import { write, writeJson } from '../output.ts';
import { findLead, toJsonLead } from './find.ts';

export function registerLeadsShow(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'show',
    description: 'show all fields of a lead, and who has it',
    arguments: { '<id>': 'id of the lead' },
    options: {
      '--company <id>': 'the company of the lead; needed if several companies have a lead with this id',
      '--json': 'print the lead as the API has it, with consumers: [{ tokenId, name, userId, state }]',
    },
    help: `
Below the fields, one line for each consumer (a token that polls or has a webhook subscription) that may see the lead, or received it before:
  confirmed   the consumer has sent a since that is not before this lead, or its webhook has accepted the lead
  delivered   the lead, or a newer one, was sent to the consumer
  waiting     neither
  skipped     the consumer has asked for later leads, and this one was not sent to it
A consumer that was removed, or whose token was revoked, within the last 30 days is listed if it had received the lead;
the tokenId of a removed webhook is its own id.
The JSON is the lead as the API has it, with companyId, branchId, departmentId and consumers.`,
    examples: ['leadtap leads show 4711', 'leadtap leads show 4711 --company soleil --json'],
    run: showLead,
  });
}

interface ShowOptions {
  readonly company?: string;
  readonly json?: true;
}

const showLead = (context: CommandContext, { company, json }: ShowOptions, id: string): Promise<void> =>
  withStore(context, async (store, config) => {
    const { stdout, clock, signal } = context;
    const lead = await findLead(store, id, company);
    const now = clock();
    // Positions that are no longer written would be wrong.
    const found = config.consumers
      ? await findConsumers(store, await consumerSourcesOf(store, config), lead, now, signal)
      : undefined;
    if (json)
      return writeJson(stdout, {
        ...toJsonLead(lead),
        ...(found && { consumers: found.map(toJsonConsumer) }),
      });
    return write(stdout, describeLead(lead, found && describeConsumers(found, lead, now)));
  });

/** With the name of its token. */
type Removed = RemovedReceiver & { readonly name: string | null };

async function findConsumers(
  store: Store,
  sources: ConsumerSources,
  lead: StoredLead,
  now: number,
  signal: AbortSignal,
): Promise<(LeadConsumer | Removed)[]> {
  const found: (LeadConsumer | Removed)[] = await findLeadConsumers(sources, lead, now, signal);
  for (const removed of await findRemovedReceivers(sources, lead, now)) {
    const token = removed.tokenId === null ? undefined : await store.findToken(removed.tokenId);
    found.push({ ...removed, name: token?.name ?? null });
  }
  return found;
}

/** Outside programs rely on exactly these fields. */
function toJsonConsumer(consumer: LeadConsumer | Removed) {
  const { tokenId, name, userId } = 'listed' in consumer ? consumer.listed : consumer;
  return { tokenId, name, userId, state: 'listed' in consumer ? consumer.state : 'delivered' };
}

/** The name of a place, and its id. */
const named = (name: string | null, id: string | null): string =>
  name === null ? '-' : `${name} (${id ?? '-'})`;

/** Fields that are shown in their own way. */
const FORMATS: { readonly [Name in LeadFieldName]?: (lead: Lead, stored: StoredLead) => string } = {
  status: ({ status }) => `${status.label} (${status.value})${status.final ? ', final' : ''}`,
  companyName: ({ companyName }, { companyId }) => named(companyName, companyId),
  branchName: ({ branchName }, { branchId }) => named(branchName, branchId),
  departmentName: ({ departmentName }, { departmentId }) => named(departmentName, departmentId),
};

/** Shown as part of the status. */
const HIDDEN: readonly LeadFieldName[] = ['statusValue'];

function formatValue(value: unknown): string {
  if (value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(String).join('\n') || '-';
  if (!isJsonObject(value)) return String(value);
  const lines = Object.entries(value).map(
    ([name, inner]) => `${name}: ${typeof inner === 'string' ? inner : JSON.stringify(inner)}`,
  );
  return lines.join('\n') || '-';
}

/** One line for each field, then the consumers. Further lines of a text stand below its beginning. */
function describeLead(stored: StoredLead, consumers: readonly string[] | undefined): string {
  const wire = toWire(stored.lead);
  const fields = LEAD_FIELDS.filter(({ name }) => !HIDDEN.includes(name)).map(
    ({ name, label }) => [label, FORMATS[name]?.(wire, stored) ?? formatValue(wire[name])] as const,
  );
  const entries = consumers ? [...fields, ['Consumers', consumers.join('\n')] as const] : fields;
  const indent = Math.max(...entries.map(([label]) => label.length)) + 2;
  const lines = entries.flatMap(([label, text]) =>
    text
      .split(/\r?\n/)
      .map((line, index) => `${(index === 0 ? label : '').padEnd(indent)}${printable(line)}`.trimEnd()),
  );
  return `${lines.join('\n')}\n`;
}

const MAX_SHOWN = 50;

/** One line for each consumer. */
function describeConsumers(
  consumers: readonly (LeadConsumer | Removed)[],
  { lead: { createdAt, automation_created_at: addedAt } }: StoredLead,
  now: number,
): string[] {
  if (consumers.length === 0) return ['none has it or will get it'];
  const lines = consumers.slice(0, MAX_SHOWN).map((consumer) => {
    if (!('listed' in consumer)) return describeRemoved(consumer);
    const { listed, ...lead } = consumer;
    return `${describeConsumer(listed)}: ${describeState(lead, createdAt)}; ${describeLast(listed, now)}`;
  });
  if (consumers.length > MAX_SHOWN) lines.push(`and ${consumers.length - MAX_SHOWN} more; --json has all`);
  // Only imported history has another `createdAt` than the time at which it was added.
  if (createdAt !== addedAt && consumers.some((one) => 'listed' in one && one.state === 'skipped'))
    lines.push(
      'This lead was imported as history. Consumers that had polled later leads before did not get it.',
    );
  return lines;
}

function describeRemoved({ name, tokenId, userId, removedAt }: Removed): string {
  const subject = name ?? (tokenId === null ? 'a token without an id' : tokenId);
  const end =
    removedAt === null ? 'its token was revoked' : `it was removed on ${toIso(removedAt).slice(0, 10)}`;
  return `${subject} (user ${userId}): delivered; ${end}`;
}

function describeLast(listed: ListedConsumer, now: number): string {
  const { consumer } = listed;
  const hook = leadHookOf(listed);
  const ago = (time: number): string => `${formatDuration((now - time) / 1000)} ago`;
  const stuck = isStuck(listed, now)
    ? 'it receives the same leads again and again and does not confirm them; '
    : '';
  if (consumer) return `${stuck}last poll ${ago(consumer.lastPollAt)}, status ${consumer.lastStatus}`;
  if (!hook) return 'it has a webhook subscription and has never polled';
  const verb = isAccepted(hook) ? 'sent' : 'tried';
  const last = hook.lastEventAt === null ? 'nothing sent yet' : `last ${verb} ${ago(hook.lastEventAt)}`;
  return `webhook to ${hook.host}, ${hook.state}, ${last}`;
}

function describeState({ state, isMissed }: Omit<LeadConsumer, 'listed'>, createdAt: number): string {
  if (state === 'waiting') return `waiting since ${toIso(createdAt)}`;
  if (state !== 'skipped') return state;
  return isMissed
    ? 'skipped: it had got later leads before it could see this one; it may not have received it'
    : 'skipped: it asked for what comes after it; it was never sent to it';
}
