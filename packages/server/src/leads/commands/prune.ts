import { type Command, InvalidArgumentError } from 'commander';
import { companyPages, findCompany, requirePart } from '../../cli/company.ts';
import { type ConfirmFlags, confirm, requireConsent } from '../../cli/confirm.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { EXIT_CODES, ExitCode, exitCodeOf } from '../../cli/exit.ts';
import { formatLeadCount, Table, writeJson, writeLine } from '../../cli/output.ts';
import { ProgressBar } from '../../cli/progress-bar.ts';
import { toDurationMs, toIso } from '../../clock.ts';
import { systemSleep } from '../../import/batches.ts';
import type { Store } from '../../store/store.ts';
import type { LeadRemoval } from '../removal.ts';

const HELP = `
Deletes the leads whose createdAt is older than the given time, in small batches with pauses: the service answers polls
and takes new leads meanwhile. If it is interrupted, run it again. A client that has not polled for longer than this time
does not get the deleted leads. Unlike after \`leads erase\`, an import of a deleted id later adds it as a new lead.

Examples:
  leadtap leads prune --older-than 400d --dry-run
  leadtap leads prune --older-than 2y --company soleil
  0 3 * * *  leadtap leads prune --older-than 400d --yes       every night, in a crontab`;

interface PruneFlags extends ConfirmFlags {
  readonly olderThan: number;
  readonly company?: string;
  readonly json?: true;
}

const DAY_MS = 86_400_000;
const MAX_AGE_MS = 36_525 * DAY_MS;

function parseAge(text: string): number {
  const ageMs = toDurationMs(text) ?? 0;
  if (ageMs >= DAY_MS && ageMs <= MAX_AGE_MS) return ageMs;
  throw new InvalidArgumentError('Write 30d, 400d or 2y: from one day to 100 years.');
}

export function registerPrune(leads: Command, context: CommandContext): void {
  leads
    .command('prune')
    .description('delete leads that are older than you may keep them')
    .requiredOption('--older-than <time>', 'the age of a lead: 30d, 400d, 2y; at least 1d', parseAge)
    .option('--company <id>', 'only leads of this company')
    .option('--dry-run', 'count the leads and delete nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .option('--json', 'print { before, pruned, older, companies: [{ companyId, leads }] }')
    .addHelpText('after', HELP)
    .action((flags: PruneFlags) => prune(flags, context));
}

interface OldLeads {
  readonly companyId: string;
  readonly count: number;
}

async function prune(flags: PruneFlags, context: CommandContext): Promise<void> {
  requireConsent('leads prune', flags, context);
  const { stdout, stderr, clock, signal } = context;
  const before = clock() - flags.olderThan;
  await withStore(context, async (store) => {
    const removal = requirePart(store.removal);
    const old = await countOldLeads(store, removal, before, flags.company, signal);
    const total = old.reduce((sum, { count }) => sum + count, 0);
    const finish = (pruned: number) => print({ before, pruned, total, old }, flags, context);
    if (flags.dryRun || total === 0) return finish(0);
    const question = `Delete ${formatLeadCount(total)} created before ${toIso(before)}?`;
    if (!flags.yes && !(await confirm(question, context))) {
      await writeLine(stderr, 'Nothing was deleted.');
      throw new ExitCode(EXIT_CODES.failed);
    }
    const progress = new ProgressBar(stderr, clock, 'leads deleted');
    let pruned = 0;
    for (const { companyId } of old)
      for await (const count of pruneCompany(removal, companyId, before, signal)) {
        pruned += count;
        progress.update({ count: pruned, share: Math.min(pruned / total, 1) });
      }
    progress.clear();
    if (!signal.aborted) return finish(pruned);
    await writeLine(stdout, `${formatLeadCount(pruned)} deleted`);
    await writeLine(stderr, 'Interrupted. To delete the rest, run the same command again.');
    throw exitCodeOf(signal);
  });
}

async function countOldLeads(
  store: Store,
  removal: LeadRemoval,
  before: number,
  companyId: string | undefined,
  signal: AbortSignal,
): Promise<OldLeads[]> {
  const old: OldLeads[] = [];
  const add = async (id: string) => {
    const count = await removal.countOlder(id, before);
    if (count > 0) old.push({ companyId: id, count });
  };
  if (companyId !== undefined) await add((await findCompany(store, companyId, signal)).id);
  else for await (const page of companyPages(store, signal)) for (const { id } of page) await add(id);
  return old;
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

interface Pruned {
  readonly before: number;
  readonly pruned: number;
  readonly total: number;
  readonly old: readonly OldLeads[];
}

async function print(
  { before, pruned, total, old }: Pruned,
  { json, dryRun }: PruneFlags,
  { stdout }: CommandContext,
): Promise<void> {
  const companies = old.map(({ companyId, count }) => ({ companyId, leads: count }));
  if (json) return writeJson(stdout, { before: toIso(before), pruned, older: total, companies });
  if (dryRun) {
    const table = new Table(stdout, ['COMPANY', 'LEADS']);
    await table.add(old.map(({ companyId, count }) => [companyId, String(count)]));
  }
  if (total === 0) await writeLine(stdout, `no lead was created before ${toIso(before)}`);
  else
    await writeLine(
      stdout,
      dryRun
        ? `${formatLeadCount(total)} ${total === 1 ? 'was' : 'were'} created before ${toIso(before)}; nothing was deleted`
        : `${formatLeadCount(pruned)} deleted`,
    );
}
