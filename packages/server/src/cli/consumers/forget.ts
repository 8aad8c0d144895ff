import type { Command } from 'commander';
import { formatDuration } from '../../lib/formats.ts';
import { leadHookOf, listedConsumerPages } from '../../status/consumer-states.ts';
import { describe, hooksCommand, MAX_PENDING_LEADS, pendingText } from '../../status/sentences.ts';
import { findUser } from '../accounts/organisation.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../failure.ts';
import { withInvocation } from '../invocation.ts';
import { writeLine } from '../output.ts';
import { consumerSourcesOf } from './sources.ts';

export function registerForget(consumers: Command, context: CommandContext): void {
  addCommand(consumers, context, {
    name: 'forget',
    description: 'forget a consumer that was switched off for good, but whose token is kept',
    arguments: { '[token]': 'id of its token; `leadtap consumers` shows it' },
    options: {
      '--user <id>': 'the user of the token; alone: the consumer of all tokens of this user without an id',
    },
    help: `
A consumer that has stopped while leads wait for it is an error until it polls again. Its position is deleted, and nothing else: if
its token polls again, it is a new consumer, and its poll returns what it asks for. To make sure that it never polls
again, use \`leadtap token revoke\`.`,
    examples: ['leadtap consumers forget 3f6c2b8a90d14e7b', 'leadtap consumers forget --user ada'],
    run: forget,
  });
}

interface ForgetOptions {
  readonly user?: string;
}

const forget = (context: CommandContext, { user: userId }: ForgetOptions, tokenId?: string): Promise<void> =>
  withStore(context, async (store, config) => {
    if (tokenId === undefined && userId === undefined)
      throw new Failure('usage', 'name the token of the consumer, or the user', FIX);
    if (userId !== undefined) await findUser(store, userId);
    const query = { userId, now: context.clock(), maxPendingLeads: MAX_PENDING_LEADS };
    let count = 0;
    let hasHook = false;
    for await (const page of listedConsumerPages(await consumerSourcesOf(store, config), query))
      for (const listed of page.filter((one) => one.tokenId === (tokenId ?? null))) {
        hasHook ||= leadHookOf(listed) !== undefined;
        const { consumer, hook } = listed;
        if (!consumer || !(await store.consumers.forget(consumer))) continue;
        count += 1;
        const ago = formatDuration((query.now - consumer.lastPollAt) / 1000);
        const leads = consumer.pendingLeads === 0 ? 'no lead waits' : pendingText(consumer.pendingLeads);
        await writeLine(
          context.stdout,
          `Forgot ${describe({ ...listed, hook: null })}: it last polled ${ago} ago, and ${leads}.`,
        );
        const webhook = `Its webhook subscription remains. To delete it: \`leadtap hooks remove ID\` (${hooksCommand(listed)} shows the id).`;
        if (hook) await writeLine(context.stderr, withInvocation(webhook, context));
      }
    if (count > 0) return;
    const name = tokenId === undefined ? `token without an id of user ${userId}` : `token ${tokenId}`;
    throw hasHook
      ? new Failure(
          'not-found',
          `${name} has never polled: its webhook is sent leads`,
          'Delete the webhook: `leadtap hooks remove ID` (`leadtap hooks list` shows the id).',
        )
      : new Failure('not-found', `no consumer polls with ${name}`, FIX);
  });

const FIX = '`leadtap consumers` shows the consumers, with the ids of their tokens.';
