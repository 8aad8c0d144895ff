import type { Command } from 'commander';
import { systemSleep } from '../../import/batches.ts';
import type { LeadRemoval } from '../../leads/removal.ts';
import { toIso } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { companiesOf } from '../accounts/organisation.ts';
import { addCommand, parseDuration } from '../command.ts';
import {
  type ConfirmFlags,
  confirmOrStop,
  HANDLED_OPTION,
  type HandledFlag,
  requireConsent,
} from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { exitCodeOf } from '../exit.ts';
import { formatLeadCount, Table, writeJson, writeLine } from '../output.ts';
import { settleOwed } from '../owed.ts';
import { ProgressBar } from '../progress-bar.ts';
import { formatRefused, refusedPages } from './refused.ts';

const DAY_MS = 86_400_000;

export function registerPrune(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'prune',
    description: 'delete leads that are older than you may keep them',
    options: {
      '--older-than <time>': {
        text: 'the age of a lead: 30d, 400d, 2y; at least 1d',
        isRequired: true,
        parse: parseDuration(DAY_MS, 36_525 * DAY_MS, 'Write 30d, 400d or 2y: from one day to 100 years.'),
      },
      '--company <id>': 'only leads of this company',
      '--dry-run': 'count them and delete nothing',
      '--yes': 'do not ask; needed without a terminal',
      ...HANDLED_OPTION,
      '--json': 'print { before, pruned, older, refused, companies: [{ companyId, leads }] }',
    },
    help: `
Deletes the leads whose createdAt is older than the given time, in small batches with pauses: the service answers polls
and takes new leads meanwhile. If it is interrupted, run it again. A client that has not polled for longer than this time
does not get the deleted leads. Refused requests of that age are deleted, too. Unlike after \`leads erase\`, an import of a
deleted id later adds it as a new lead.`,
    examples: [
      'leadtap leads prune --older-than 400d --dry-run',
      'leadtap leads prune --older-than 2y --company soleil',
      '0 3 * * *  leadtap leads prune --older-than 400d --yes       every night, in a crontab',
    ],
    run: prune,
  });
}

interface PruneFlags extends ConfirmFlags, HandledFlag {
  readonly olderThan: number;
  readonly company?: string;
  readonly json?: true;
}

async function prune(context: CommandContext, flags: PruneFlags): Promise<void> {
  requireConsent('leads prune', flags, context);
  const { stdout, stderr, clock, signal } = context;
  const before = clock() - flags.olderThan;
  await withStore(context, async (store, config) => {
    const removal = store.removal;
    const companies: { companyId: string; leads: number }[] = [];
    for await (const { id: companyId } of companiesOf(store, signal, flags.company)) {
      const leads = await removal.countOlder(companyId, before);
      if (leads > 0) companies.push({ companyId, leads });
    }
    const older = companies.reduce((sum, { leads }) => sum + leads, 0);
    const refused = await findOldRefused(store, flags.company, before);
    const isPruned = !flags.dryRun && older + refused.length > 0;
    const found =
      refused.length > 0
        ? `${formatLeadCount(older)} and ${formatRefused(refused.length)} from before ${toIso(before)}`
        : `${formatLeadCount(older)} created before ${toIso(before)}`;
    let pruned = 0;
    if (isPruned) {
      await confirmOrStop(`Delete ${found}?`, flags, context);
      const progress = new ProgressBar(stderr, clock, 'leads deleted');
      await settleOwed({ context, store, config }, flags, { companyId: flags.company }, async () => {
        for (const { companyId } of companies)
          for await (const count of pruneCompany(removal, companyId, before, signal)) {
            pruned += count;
            progress.update({ count: pruned, share: Math.min(pruned / older, 1) });
          }
        progress.clear();
      });
    }
    const isRefusedPruned = isPruned && refused.length > 0 && !signal.aborted;
    const removed = isRefusedPruned ? await store.refusedLeads.remove(refused) : 0;
    if (flags.json && !signal.aborted)
      return writeJson(stdout, { before: toIso(before), pruned, older, refused: refused.length, companies });
    if (flags.dryRun)
      await new Table(stdout, ['COMPANY', 'LEADS']).add(
        companies.map(({ companyId, leads }) => [companyId, String(leads)]),
      );
    await writeLine(
      stdout,
      isPruned ? `${formatLeadCount(pruned)} deleted` : `${found}; nothing was deleted`,
    );
    if (isRefusedPruned) await writeLine(stdout, `${formatRefused(removed)} deleted`);
    if (!signal.aborted) return;
    await writeLine(stderr, 'Interrupted. To delete the rest, run the same command again.');
    throw exitCodeOf(signal);
  });
}

/** Requests that were refused are leads of people, too. They are held for 30 days at most. */
async function findOldRefused(
  store: Store,
  companyId: string | undefined,
  before: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const page of refusedPages(store, companyId))
    ids.push(...page.filter(({ receivedAt }) => receivedAt < before).map(({ id }) => id));
  return ids;
}

/** Some milliseconds under the lock of the database. */
const LEADS_PER_BATCH = 500;
const MIN_PAUSE_MS = 5;

/** Pauses for as long as each batch took, so that writers have the lock at least half of the time. */
async function* pruneCompany(
  removal: LeadRemoval,
  companyId: string,
  before: number,
  signal: AbortSignal,
): AsyncGenerator<number> {
  while (!signal.aborted) {
    const startedAt = performance.now();
    const count = await removal.prune(companyId, before, LEADS_PER_BATCH);
    yield count;
    if (count < LEADS_PER_BATCH) return;
    await systemSleep(Math.max(performance.now() - startedAt, MIN_PAUSE_MS), signal);
  }
}
