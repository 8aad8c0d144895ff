import type { Command } from 'commander';
import { createContactMatcher, createIdMatcher, toSearchable } from '../../intake/refused-search.ts';
import {
  type Contact,
  type LeadRemoval,
  normalizeEmail,
  normalizePhone,
  type RemovableLead,
  type VacuumReport,
} from '../../leads/removal.ts';
import { toIso } from '../../lib/clock.ts';
import { takeTurn } from '../../lib/event-loop.ts';
import type { Store } from '../../store/store.ts';
import { findCompany } from '../accounts/organisation.ts';
import { addCommand, collect } from '../command.ts';
import { type ConfirmFlags, confirmOrStop, isInteractive, requireConsent } from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { EXIT_CODES, ExitCode, exitCodeOf, Failure } from '../exit.ts';
import { formatLeadCount, type Output, Table, writeHint, writeJson, writeLine } from '../output.ts';
import { checkFound } from './find.ts';
import { formatRefused, refusedPages } from './refused.ts';

export function registerErase(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'erase',
    description: 'erase the leads of a person for good',
    arguments: { '[ids...]': 'ids of leads' },
    options: {
      '--email <address>': { text: 'leads with this e-mail address; can be repeated', parse: collect },
      '--phone <number>': { text: 'leads with this phone number; can be repeated', parse: collect },
      '--company <id>': 'only leads of this company',
      '--dry-run': 'show the leads and erase nothing',
      '--yes': 'do not ask; needed without a terminal',
      '--vacuum': 'rewrite the table or the file, also on PostgreSQL; without ids: do only that',
      '--no-vacuum': 'do not clean the files of the database now',
      '--json':
        'print { erased, isComplete, remains, leads: [{ companyId, id, createdAt }], refused: [{ companyId, id }] }',
    },
    help: `
Erases every lead that has one of the ids, e-mail addresses or phone numbers. An e-mail address is compared without
regard to case, a phone number by its digits with phone1 and phone2; 00 at the start is the same as +, and (0) after the
country code is ignored. Other fields, such as custom fields, are not searched. On a terminal, the command shows the leads
and asks. Refused requests that are held (\`leadtap leads refused\`) are deleted if their body has one of the values, or an
e-mail address or phone number of a lead of their company that is erased.

An erased id is not accepted again: an import of it is rejected, unless it has --allow-erased. No client gets a lead
twice and none is lost: the times of the other leads do not change.

The command also cleans the files of the database. On SQLite it rewrites the file, some seconds for each gigabyte: polls
are answered meanwhile, writers wait, and POST /leads gets 503 after 10 seconds, to be retried. On PostgreSQL it runs
VACUUM; --vacuum rewrites the table (VACUUM FULL): polls and writers wait meanwhile and then get 503, to be retried. It
says what remains where, such as in backups.

The exit code is 1 if no lead matches, if an id is unknown, or if the files could not be cleaned.`,
    examples: [
      'leadtap leads erase --email ada@example.com --phone "+33 6 12 34 56 78"',
      'leadtap leads erase 4711 4712 --company soleil',
      'leadtap leads erase --email ada@example.com --dry-run',
      'leadtap leads erase --email ada@example.com --yes --json',
      'leadtap leads erase --vacuum                      only clean the files, of leads that were deleted before',
    ],
    run: erase,
  });
}

interface EraseFlags extends ConfirmFlags {
  readonly email?: readonly string[];
  readonly phone?: readonly string[];
  readonly company?: string;
  readonly vacuum?: boolean;
  readonly json?: true;
}

async function erase(context: CommandContext, flags: EraseFlags, ids: readonly string[]): Promise<void> {
  const { email = [], phone = [], company, dryRun, json, yes } = flags;
  const isSearch = ids.length + email.length + phone.length > 0;
  checkFlags(isSearch, flags);
  if (isSearch) requireConsent('leads erase', flags, context);
  await withStore(context, async (store) => {
    const removal = store.removal;
    if (company !== undefined) await findCompany(store, company);
    const leads = isSearch ? await findLeads(removal, ids, flags, context) : [];
    const refused = isSearch ? await findRefused(store, ids, leads, flags, context) : [];
    if (isSearch) requireFound(ids, leads, refused, company);
    const held = refused.map(({ companyId, id }) => ({ companyId, id }));
    if (dryRun) {
      if (json) {
        const shown = leads.map((lead) => ({ ...toJson(lead), name: lead.name }));
        return writeJson(context.stdout, { leads: shown, refused: held });
      }
      await printTable(context.stdout, leads);
      if (refused.length > 0) await writeLine(context.stdout, `and ${formatRefused(refused.length)}`);
      return;
    }
    const found = [formatLeadCount(leads.length), refused.length > 0 && formatRefused(refused.length)];
    // With --yes, no name is printed: the output of a script is often kept in a log.
    if (isSearch && !yes) await printTable(context.stderr, leads);
    if (isSearch)
      await confirmOrStop(`Erase ${found.filter(Boolean).join(' and ')} for good?`, flags, context);
    const erased = await eraseLeads(removal, leads, context);
    const removed = refused.length > 0 ? await store.refusedLeads.remove(refused.map(({ id }) => id)) : 0;
    const { isComplete, remains } = await clean(removal, flags, context);
    if (json)
      await writeJson(context.stdout, {
        erased,
        leads: leads.map(toJson),
        refused: held,
        isComplete,
        remains,
      });
    else {
      if (isSearch) await writeLine(context.stdout, `${formatLeadCount(erased)} erased`);
      else if (isComplete) await writeLine(context.stdout, 'The files of the database were cleaned.');
      if (removed > 0) await writeLine(context.stdout, `${formatRefused(removed)} deleted`);
      for (const sentence of [...remains, ...(isSearch ? [OWN_FILES] : [])])
        await writeHint(context, sentence);
    }
    if (!isComplete) throw new ExitCode(EXIT_CODES.failed);
  });
}

/** A shorter number would match too many people by mistake. */
const MIN_PHONE_DIGITS = 5;

function checkFlags(isSearch: boolean, { email = [], phone = [], vacuum, dryRun }: EraseFlags): void {
  if (!isSearch && (vacuum !== true || dryRun))
    throw new Failure(
      'usage',
      'nothing says which leads to erase',
      'Give ids, --email or --phone. --vacuum alone cleans the files of leads that were deleted before.',
    );
  for (const address of email)
    if (!isEmail(address)) throw new Failure('usage', `--email ${address} is not an e-mail address`);
  for (const number of phone)
    if (!isPhone(number))
      throw new Failure('usage', `--phone ${number} has fewer than ${MIN_PHONE_DIGITS} digits`);
}

async function findLeads(
  removal: LeadRemoval,
  ids: readonly string[],
  { email: emails = [], phone: phones = [], company }: EraseFlags,
  context: CommandContext,
): Promise<readonly RemovableLead[]> {
  const byId = ids.length === 0 ? [] : await removal.findByIds(ids, company);
  const byContact =
    emails.length + phones.length === 0 ? [] : await scanLeads(removal, { emails, phones }, company, context);
  return [...new Map([...byId, ...byContact].map((lead) => [stampKey(lead), lead])).values()];
}

function requireFound(
  ids: readonly string[],
  leads: readonly RemovableLead[],
  refused: readonly RefusedMatch[],
  company: string | undefined,
): void {
  const refusedIds = new Set(refused.flatMap((match) => match.ids));
  for (const id of ids.filter((one) => !refusedIds.has(one)))
    checkFound(
      id,
      leads.filter((lead) => lead.id === id),
      company,
    );
  if (leads.length === 0 && refused.length === 0)
    throw new Failure(
      'not-found',
      'no lead matches; nothing was erased',
      'Search for other spellings: another e-mail address, or the phone number with and without its country code.',
    );
}

interface RefusedMatch {
  readonly id: string;
  readonly companyId: string;
  /** Of leads, which its body contains. */
  readonly ids: readonly string[];
}

const isEmail = (address: string): boolean => /^[^@]+@[^@]+$/.test(normalizeEmail(address));
const isPhone = (number: string): boolean => normalizePhone(number).length >= MIN_PHONE_DIGITS;

/** The e-mail addresses and phone numbers of the leads, by company. */
function contactsOf(leads: readonly RemovableLead[]): ReadonlyMap<string, Contact> {
  const contacts = new Map<string, { readonly emails: string[]; readonly phones: string[] }>();
  for (const { companyId, email, phone1, phone2 } of leads) {
    const contact = contacts.get(companyId) ?? { emails: [], phones: [] };
    contacts.set(companyId, contact);
    if (email !== null && isEmail(email)) contact.emails.push(email);
    for (const phone of [phone1, phone2]) if (phone !== null && isPhone(phone)) contact.phones.push(phone);
  }
  return contacts;
}

/** Reads every body that is held: at most 16 MiB for each company. */
async function findRefused(
  store: Store,
  ids: readonly string[],
  leads: readonly RemovableLead[],
  { email: emails = [], phone: phones = [], company }: EraseFlags,
  { signal }: CommandContext,
): Promise<readonly RefusedMatch[]> {
  const hasContact = createContactMatcher({ emails, phones });
  const hasContactOfLeads = new Map(
    [...contactsOf(leads)].map(([companyId, contact]) => [companyId, createContactMatcher(contact)]),
  );
  const hasId = ids.map((id) => [id, createIdMatcher(id)] as const);
  const matches: RefusedMatch[] = [];
  for await (const page of refusedPages(store, company))
    for (const { id, companyId } of page) {
      await takeTurn();
      if (signal.aborted) throw exitCodeOf(signal);
      const held = await store.refusedLeads.find(id);
      if (!held) continue;
      const body = await toSearchable(held);
      const found = hasId.filter(([, matches]) => matches(body)).map(([leadId]) => leadId);
      if (found.length > 0 || hasContact(body) || hasContactOfLeads.get(companyId)?.(body))
        matches.push({ id, companyId, ids: found });
    }
  return matches;
}

const stampKey = ({ companyId, createdAt }: RemovableLead): string => JSON.stringify([companyId, createdAt]);

async function scanLeads(
  removal: LeadRemoval,
  contact: Contact,
  companyId: string | undefined,
  { signal }: CommandContext,
): Promise<RemovableLead[]> {
  const found: RemovableLead[] = [];
  let last: Awaited<ReturnType<LeadRemoval['scan']>>['last'];
  do {
    const page = await removal.scan(contact, last, companyId);
    found.push(...page.leads);
    last = page.last;
  } while (last !== undefined && !signal.aborted);
  if (signal.aborted) throw exitCodeOf(signal);
  return found;
}

/** More leads than this are counted instead of shown. */
const MAX_SHOWN = 50;

async function printTable(output: Output, leads: readonly RemovableLead[]): Promise<void> {
  const table = new Table(output, ['ID', 'COMPANY', 'CREATED', 'NAME']);
  const shown = leads.slice(0, MAX_SHOWN);
  await table.add(shown.map(({ id, companyId, createdAt, name }) => [id, companyId, toIso(createdAt), name]));
  if (leads.length > MAX_SHOWN) await writeLine(output, `and ${leads.length - MAX_SHOWN} more`);
}

/** One transaction each, short enough that polls and other writers do not wait. */
const LEADS_PER_BATCH = 500;

async function eraseLeads(
  removal: LeadRemoval,
  leads: readonly RemovableLead[],
  { stderr, signal }: CommandContext,
): Promise<number> {
  let erased = 0;
  for (let start = 0; start < leads.length && !signal.aborted; start += LEADS_PER_BATCH) {
    erased += await removal.erase(leads.slice(start, start + LEADS_PER_BATCH));
  }
  if (!signal.aborted) return erased;
  await writeLine(
    stderr,
    `Interrupted after ${formatLeadCount(erased)}. Run the same command again to continue.`,
  );
  throw exitCodeOf(signal);
}

const NOT_CLEANED: VacuumReport = {
  isComplete: true,
  remains: [
    'The files of the database were not cleaned and contain the leads. Run `leadtap leads erase --vacuum` later.',
  ],
};

async function clean(
  removal: LeadRemoval,
  { vacuum }: EraseFlags,
  context: CommandContext,
): Promise<VacuumReport> {
  if (vacuum === false) return NOT_CLEANED;
  if (isInteractive(context)) await writeLine(context.stderr, 'Cleaning the files of the database …');
  return removal.vacuum(vacuum);
}

const OWN_FILES =
  'Delete your own copies yourself: import files, rejects files (--rejects), exports and backups. Automation platforms keep the leads they got.';

/** Without the name. */
const toJson = ({ companyId, id, createdAt }: RemovableLead) => ({
  ...{ companyId, id, createdAt: toIso(createdAt) },
});
