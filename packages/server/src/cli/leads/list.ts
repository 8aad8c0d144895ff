import { type Command, InvalidArgumentError } from 'commander';
import type { LeadScope, StoredLead } from '../../leads/record.ts';
import { toWire } from '../../leads/render.ts';
import { toIso } from '../../lib/clock.ts';
import { quote } from '../../lib/escape.ts';
import type { Store } from '../../store/store.ts';
import { companiesOf, findCompany } from '../accounts/organisation.ts';
import { addCommand, parseNumber } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { printList, writeLine } from '../output.ts';
import { leadPages, parseSince, toJsonLead } from './find.ts';

const DEFAULT_LIMIT = 20;
const LEADS_PER_SEARCH = 500;

export function registerLeadsList(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'list',
    description: 'list the newest leads, or those after a time',
    options: {
      '--company <id>': 'only the leads of this company',
      '--since <time>': {
        text: 'the leads created after this time, oldest first',
        parse: (text) => parseSince(text, context.clock()),
      },
      '--search <text>': {
        text: 'only leads with this in a name, e-mail address, phone number or id',
        parse: parseSearch,
      },
      '--limit <n>': { text: 'at most n leads', parse: parseNumber(1), default: [DEFAULT_LIMIT, '20'] },
      '--json': 'print leads as the API has them, with companyId, branchId and departmentId',
    },
    help: `
Without --since: the newest leads, newest first. With --since: the leads created after it, oldest first, as a poll
has them. --since is a time such as 2026-03-02T09:30:00Z or 2026-03-02, or a time span up to now such as 30m, 12h or 7d.

--search ignores case and accents, and compares phone numbers also by four digits or more. Leads are read until --limit are found:
--company and --since make it faster.`,
    examples: [
      'leadtap leads list',
      'leadtap leads list --company soleil --since 24h',
      'leadtap leads list --search moreau                 also: ada@example.com, "+33 6 12 34 56 78", a part of an id',
      `leadtap leads list --since 2026-03-02 --limit 100000 --json | jq -r '.[].email'`,
    ],
    run: listLeads,
  });
}

interface ListOptions {
  readonly company?: string;
  readonly since?: number;
  readonly limit: number;
  readonly search?: string;
  readonly json?: true;
}

function parseSearch(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Give at least one character.');
  return text;
}

const listLeads = (context: CommandContext, options: ListOptions): Promise<void> =>
  withStore(context, async (store) => {
    const { company: companyId, since, limit, search, json } = options;
    if (companyId !== undefined) await findCompany(store, companyId);
    const found =
      search === undefined
        ? leadPages(store, { companyId, since }, context.signal)
        : searchLeads(store, options, context);
    let count = 0;
    async function* limited() {
      for await (const page of found) {
        yield page.slice(0, limit - count);
        count += page.length;
        if (count > limit) return;
      }
    }
    const companyHeading = companyId === undefined ? ['COMPANY'] : [];
    await printList(context, limited(), json, {
      toJson: toJsonLead,
      headings: ['CREATED', ...companyHeading, 'ID', 'NAME', 'STATUS', 'PLACE'],
      toRow: (lead) => toRow(lead, companyId === undefined),
    });
    if (json) return;
    if (count === 0) await writeLine(context.stderr, `There are no leads${describeQuery(options)}.`);
    if (count > limit) await writeLine(context.stderr, 'There are more leads. --limit N shows more of them.');
  });

/** Searches company by company: an index has the leads of one company in the order of time. Found leads are in memory at the end. */
async function* searchLeads(
  store: Store,
  { company, since, limit, search: text }: ListOptions,
  { signal }: CommandContext,
): AsyncGenerator<readonly StoredLead[]> {
  const found: StoredLead[] = [];
  for await (const { id: companyId } of companiesOf(store, signal, company)) {
    const scope: LeadScope = { level: 'COMPANY', companyId };
    let ofCompany: StoredLead[] = [];
    let before: number | undefined;
    do {
      signal.throwIfAborted();
      const { leads, next } = await store.searchLeads({ scope, before, text, limit: LEADS_PER_SEARCH });
      ofCompany.push(...leads.filter(({ lead }) => since === undefined || lead.createdAt > since));
      // The oldest leads after `since` are found last.
      if (since !== undefined) ofCompany = ofCompany.slice(-limit - 1);
      else if (ofCompany.length > limit) break;
      before = next;
    } while (before !== undefined && (since === undefined || before > since));
    found.push(...ofCompany);
  }
  const direction = since === undefined ? -1 : 1;
  found.sort(
    (a, b) => direction * (a.lead.createdAt - b.lead.createdAt || (a.companyId < b.companyId ? -1 : 1)),
  );
  yield found.slice(0, limit + 1);
}

function describeQuery({ since, search }: ListOptions): string {
  const where =
    search === undefined ? '' : ` with ${quote(search)} in a name, e-mail address, phone number or id`;
  return `${where}${since === undefined ? '' : ` created after ${toIso(since)}`}`;
}

function toRow({ lead, companyId }: StoredLead, hasCompany: boolean): (string | null)[] {
  const { id, fullName, status, createdAt, branchName, departmentName } = toWire(lead);
  const place = [branchName, departmentName].filter((name) => name !== null).join(' / ');
  return [createdAt, ...(hasCompany ? [companyId] : []), id, fullName || null, status.label, place || null];
}
