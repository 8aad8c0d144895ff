import { type Command, InvalidArgumentError } from 'commander';
import { toIso } from '../../clock.ts';
import { toWire } from '../../leads/render.ts';
import { parseInstant } from '../../leads/since.ts';
import type { StoredLead } from '../../store/records.ts';
import type { LeadListQuery, Store } from '../../store/store.ts';
import { findCompany } from '../company.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Table, writeJsonArray, writeLine } from '../output.ts';
import { parseLifetime } from '../token.ts';

const HELP = `
Without --since: the newest leads, newest first. With --since: the leads created after it, oldest first, as a poll
has them. --since is a time such as 2026-03-02T09:30:00Z or 2026-03-02, or a time span up to now such as 30m, 12h or 7d.

Examples:
  leadtap leads list
  leadtap leads list --company soleil --since 24h
  leadtap leads list --since 2026-03-02 --limit 100000 --json | jq -r '.[].email'`;

interface ListOptions {
  readonly company?: string;
  readonly since?: number;
  readonly limit: number;
  readonly json?: true;
}

const DEFAULT_LIMIT = 20;

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 1.');
  return Number(text);
}

function parseSince(text: string, now: number): number {
  if (/^\d+[smhdy]$/.test(text)) return now - parseLifetime(text);
  const since = parseInstant(text);
  if (since !== undefined) return since;
  throw new InvalidArgumentError(
    'Write a time such as 2026-03-02T09:30:00Z or 2026-03-02, or a time span such as 30m, 12h or 7d.',
  );
}

export function registerLeadsList(leads: Command, context: CommandContext): void {
  leads
    .command('list')
    .description('list leads, the newest first')
    .option('--company <id>', 'only the leads of this company')
    .option('--since <time>', 'the leads created after this time, oldest first', (text) =>
      parseSince(text, context.clock()),
    )
    .option('--limit <n>', 'at most n leads', parseLimit, DEFAULT_LIMIT)
    .option('--json', 'print an array of leads')
    .addHelpText('after', HELP)
    .action((options: ListOptions) =>
      withStore(context, async (store) => {
        const { company, json } = options;
        if (company !== undefined) await findCompany(store, company, context.signal);
        const pages = leadPages(store, options, context.signal);
        await (json ? writeJsonArray(context.stdout, toJson(pages)) : printLeads(pages, options, context));
      }),
    );
}

/** The lead as the API has it, and the ids of its places. */
export const toJsonLead = ({ lead, companyId, branchId, departmentId }: StoredLead) => ({
  ...toWire(lead),
  companyId,
  branchId,
  departmentId,
});

const LEADS_PER_PAGE = 500;

interface LeadPage {
  readonly leads: readonly StoredLead[];
  /** There are more leads than the limit. */
  readonly hasMore: boolean;
}

/** Page by page, so that any number of leads fits into memory. */
async function* leadPages(
  store: Store,
  { company: companyId, since, limit }: ListOptions,
  signal: AbortSignal,
): AsyncGenerator<LeadPage> {
  let after: LeadListQuery['after'];
  for (let remaining = limit; remaining > 0; remaining -= LEADS_PER_PAGE) {
    signal.throwIfAborted();
    const size = Math.min(remaining, LEADS_PER_PAGE);
    // One more than the last page shows, to find out whether there are more.
    const wanted = remaining > LEADS_PER_PAGE ? size : size + 1;
    const page = await store.listLeads({ companyId, since, limit: wanted, ...(after && { after }) });
    yield { leads: page.slice(0, size), hasMore: page.length > size };
    const last = page.at(-1);
    if (last === undefined || page.length < wanted) return;
    after = { companyId: last.companyId, createdAt: last.lead.createdAt };
  }
}

async function* toJson(pages: AsyncIterable<LeadPage>): AsyncGenerator<readonly object[]> {
  for await (const { leads } of pages) yield leads.map(toJsonLead);
}

async function printLeads(
  pages: AsyncIterable<LeadPage>,
  { company, since }: ListOptions,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  const companyHeading = company === undefined ? ['COMPANY'] : [];
  const headings = ['CREATED', ...companyHeading, 'ID', 'NAME', 'STATUS', 'PLACE'];
  const table = new Table(stdout, headings, ['PLACE', 'NAME', 'STATUS']);
  let count = 0;
  let hasMore = false;
  for await (const page of pages) {
    count += page.leads.length;
    hasMore = page.hasMore;
    await table.add(page.leads.map((lead) => toRow(lead, company === undefined)));
  }
  if (count === 0) {
    const when = since === undefined ? '' : ` created after ${toIso(since)}`;
    await writeLine(stderr, `There are no leads${when}.`);
  }
  if (hasMore) await writeLine(stderr, 'There are more leads. --limit N shows more of them.');
}

function toRow({ lead, companyId }: StoredLead, hasCompany: boolean): (string | null)[] {
  const { id, fullName, status, createdAt, branchName, departmentName } = toWire(lead);
  const place = [branchName, departmentName].filter((name) => name !== null).join(' / ');
  return [createdAt, ...(hasCompany ? [companyId] : []), id, fullName || null, status.label, place || null];
}
