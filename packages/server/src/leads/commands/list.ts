import { type Command, InvalidArgumentError } from 'commander';
import { parseLifetime } from '../../accounts/commands/token.ts';
import { companyPages, findCompany } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { TABLE_HELP, Table, writeJsonArray, writeLine } from '../../cli/output.ts';
import { ProgressBar } from '../../cli/progress-bar.ts';
import { toIso } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { quote } from '../field-readers.ts';
import type { StoredLead } from '../record.ts';
import { toWire } from '../render.ts';
import { createLeadMatcher } from '../search.ts';
import { parseInstant } from '../since.ts';
import type { LeadListQuery } from '../store.ts';

const HELP = `
Without --since: the newest leads, newest first. With --since: the leads created after it, oldest first, as a poll
has them. --since is a time such as 2026-03-02T09:30:00Z or 2026-03-02, or a time span up to now such as 30m, 12h or 7d.

--search ignores case and accents, and compares phone numbers also by their digits. Leads are read until --limit are found:
--company and --since make it faster.

${TABLE_HELP} Ids of leads
are never shortened.

Examples:
  leadtap leads list
  leadtap leads list --company soleil --since 24h
  leadtap leads list --search moreau                 also: ada@example.com, "+33 6 12 34 56 78", a part of an id
  leadtap leads list --since 2026-03-02 --limit 100000 --json | jq -r '.[].email'`;

interface ListOptions {
  readonly company?: string;
  readonly since?: number;
  readonly limit: number;
  readonly search?: string;
  readonly json?: true;
}

const DEFAULT_LIMIT = 20;

function parseSearch(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Give at least one character.');
  return text;
}

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 1.');
  return Number(text);
}

export function parseSince(text: string, now: number): number {
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
    .description('list the newest leads, or those after a time')
    .option('--company <id>', 'only the leads of this company')
    .option('--since <time>', 'the leads created after this time, oldest first', (text) =>
      parseSince(text, context.clock()),
    )
    .option(
      '--search <text>',
      'only leads with this in a name, e-mail address, phone number or id',
      parseSearch,
    )
    .option('--limit <n>', 'at most n leads', parseLimit, DEFAULT_LIMIT)
    .option('--json', 'print leads as the API has them, with companyId, branchId and departmentId')
    .addHelpText('after', HELP)
    .action((options: ListOptions) =>
      withStore(context, async (store) => {
        const { company, json } = options;
        if (company !== undefined) await findCompany(store, company, context.signal);
        const pages =
          options.search === undefined
            ? leadPages(store, options, context.signal)
            : searchPages(store, options, createLeadMatcher(options.search), context);
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

/**
 * Reads the leads of each company until enough are found, because no index finds a part of a text. Company by company: a page
 * of one company is one range of the table, and a page of all companies is not.
 */
async function* searchPages(
  store: Store,
  options: ListOptions,
  matches: (lead: StoredLead) => boolean,
  { stderr, clock, signal }: CommandContext,
): AsyncGenerator<LeadPage> {
  const { company, since, limit } = options;
  const progress = new ProgressBar(stderr, clock, 'leads searched');
  let found: StoredLead[] = [];
  let count = 0;
  const searchCompany = async (companyId: string): Promise<void> => {
    const ofCompany: StoredLead[] = [];
    const all = { ...options, company: companyId, limit: Number.MAX_SAFE_INTEGER };
    for await (const { leads } of leadPages(store, all, signal)) {
      ofCompany.push(...leads.filter(matches));
      count += leads.length;
      progress.update({ count });
      if (ofCompany.length > limit) break;
    }
    // One more than the limit, to find out whether there are more.
    found = [...found, ...ofCompany].sort(byTime(since === undefined)).slice(0, limit + 1);
  };
  try {
    if (company !== undefined) await searchCompany(company);
    else
      for await (const page of companyPages(store, signal))
        for (const { id } of page) await searchCompany(id);
  } finally {
    progress.clear();
  }
  yield { leads: found.slice(0, limit), hasMore: found.length > limit };
}

const byTime = (isNewestFirst: boolean) => (a: StoredLead, b: StoredLead) =>
  (isNewestFirst ? -1 : 1) * (a.lead.createdAt - b.lead.createdAt || (a.companyId < b.companyId ? -1 : 1));

async function* toJson(pages: AsyncIterable<LeadPage>): AsyncGenerator<readonly object[]> {
  for await (const { leads } of pages) yield leads.map(toJsonLead);
}

async function printLeads(
  pages: AsyncIterable<LeadPage>,
  { company, since, search }: ListOptions,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  const companyHeading = company === undefined ? ['COMPANY'] : [];
  const headings = ['CREATED', ...companyHeading, 'ID', 'NAME', 'STATUS', 'PLACE'];
  const shortened = ['PLACE', 'NAME', 'STATUS', 'CREATED', 'COMPANY'];
  const table = new Table(stdout, headings, { shortened, optional: ['PLACE', 'STATUS', 'COMPANY'] });
  let count = 0;
  let hasMore = false;
  for await (const page of pages) {
    count += page.leads.length;
    hasMore = page.hasMore;
    await table.add(page.leads.map((lead) => toRow(lead, company === undefined)));
  }
  if (count === 0) {
    const when = since === undefined ? '' : ` created after ${toIso(since)}`;
    const what =
      search === undefined ? '' : ` with ${quote(search)} in a name, e-mail address, phone number or id`;
    await writeLine(stderr, `There are no leads${what}${when}.`);
  }
  if (hasMore) await writeLine(stderr, 'There are more leads. --limit N shows more of them.');
}

function toRow({ lead, companyId }: StoredLead, hasCompany: boolean): (string | null)[] {
  const { id, fullName, status, createdAt, branchName, departmentName } = toWire(lead);
  const place = [branchName, departmentName].filter((name) => name !== null).join(' / ');
  return [createdAt, ...(hasCompany ? [companyId] : []), id, fullName || null, status.label, place || null];
}
