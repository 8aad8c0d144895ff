import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { registerLeadsImport } from '../import/import.ts';
import { registerErase } from './erase.ts';
import { registerLeadsExport } from './export.ts';
import { registerLeadsList } from './list.ts';
import { registerPrune } from './prune.ts';
import { registerRefused } from './refused.ts';
import { registerLeadsSendTest } from './send-test-lead.ts';
import { registerLeadsShow } from './show.ts';

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
    registerRefused,
  ])
    register(leads, context);
}
