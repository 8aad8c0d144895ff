import type { Command } from 'commander';
import { logOfConsumer } from '../../status/attempt-log.ts';
import { listedConsumerPages } from '../../status/consumer-states.ts';
import { type Logged, registerLog } from '../attempt-log.ts';
import type { CommandContext } from '../context.ts';
import { consumerSourcesOf, requireConsumers } from './sources.ts';

export const registerConsumerLog = (consumers: Command, context: CommandContext): void =>
  registerLog(consumers, context, {
    group: 'consumers',
    description: 'print what a consumer received, when, and why it was refused',
    help: `
The last 100 entries of 30 days: leads that were sent to it, its refused polls and what its webhook's receiver answered, the first
success after these, and how many polls had no new leads in between.`,
    async *pages(store, config, now) {
      requireConsumers(config);
      const sources = await consumerSourcesOf(store, config);
      for await (const page of listedConsumerPages(sources, { now, maxPendingLeads: 1 })) {
        context.signal.throwIfAborted();
        yield page.map((listed): Logged => ({ ...listed, ...logOfConsumer(listed) }));
      }
    },
  });
