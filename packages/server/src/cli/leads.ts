import type { Command } from 'commander';
import type { CommandContext } from './context.ts';
import { registerErase } from './leads/erase.ts';
import { registerLeadsExport } from './leads/export.ts';
import { registerLeadsImport } from './leads/import.ts';
import { registerLeadsList } from './leads/list.ts';
import { registerPrune } from './leads/prune.ts';
import { registerLeadsSendTest } from './leads/send-test-lead.ts';
import { registerLeadsShow } from './leads/show.ts';

export function registerLeads(program: Command, context: CommandContext): void {
  const leads = program.command('leads').description('manage leads');
  for (const register of [
    registerLeadsList,
    registerLeadsShow,
    registerLeadsImport,
    registerLeadsExport,
    registerLeadsSendTest,
    registerErase,
    registerPrune,
  ])
    register(leads, context);
}
