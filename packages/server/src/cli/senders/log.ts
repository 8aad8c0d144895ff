import type { Command } from 'commander';
import { logOfSender } from '../../status/attempt-log.ts';
import { senderPages } from '../../status/senders.ts';
import { type Logged, registerLog } from '../attempt-log.ts';
import type { CommandContext } from '../context.ts';

export const registerSenderLog = (senders: Command, context: CommandContext): void =>
  registerLog(senders, context, {
    group: 'senders',
    description: 'print what a sender sent, when, and why it was refused',
    help: `
The last 100 entries of 30 days: leads that were stored, and refused requests with the names of the fields, never their values.`,
    async *pages(store, config, now) {
      for await (const page of senderPages(store, { isIntakeOff: !config.intake }, now)) {
        context.signal.throwIfAborted();
        yield page.map((sender): Logged => ({ ...sender, ...logOfSender(sender) }));
      }
    },
  });
