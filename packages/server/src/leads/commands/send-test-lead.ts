import { testLeadFrom } from '@leadtap/contract';
import type { Command } from 'commander';
import { v7 } from 'uuid';
import { userPages } from '../../accounts/commands/user.ts';
import { PROFESSIONAL, type User } from '../../accounts/records.ts';
import { findCompanyOrOnlyOne, noSuchPlace } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { Table, writeJson, writeLine } from '../../cli/output.ts';
import { toIso } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { pollScopeOf } from '../access.ts';
import { formatIssue, parseLead } from '../parse-lead.ts';
import { isInScope } from '../placement.ts';
import type { LeadInput, StoredLead } from '../record.ts';
import type { PlacementProblem } from '../store.ts';
import { findLead } from './show.ts';

const HELP = `
The lead is called "Test Lead", and its notes and custom fields say that it is a test. Every automation that sees leads
at this place runs for it, as for a real lead: use it to try a new automation, or to find out where leads get stuck.

Examples:
  leadtap leads send-test --company soleil
  leadtap leads send-test --company soleil --department lyon-repairs
  leadtap leads send-test --company soleil --json | jq -r .id`;

interface SendOptions {
  readonly company?: string;
  readonly branch?: string;
  readonly department?: string;
  readonly json?: true;
}

type PlacedOptions = SendOptions & { readonly company: string };

export function registerLeadsSendTest(leads: Command, context: CommandContext): void {
  leads
    .command('send-test')
    .description('add a test lead, to watch it arrive in an automation platform')
    .option('--company <id>', 'the company that gets the lead (default: the only one)')
    .option('--branch <id>', 'the branch of the lead')
    .option('--department <id>', 'the department of the lead, which also sets the branch')
    .option(
      '--json',
      'print { id, createdAt, companyId, branchId, departmentId, users: [{ id, name, accessLevel }] }',
    )
    .addHelpText('after', HELP)
    .action((options: SendOptions) => sendTest(options, context));
}

const DAY_MS = 86_400_000;

function makeTestLead({ company, branch, department }: PlacedOptions, now: number): LeadInput {
  // An empty text means "no branch" in a lead. On a command line it is a variable that is not set.
  if (branch === '' || department === '')
    throw new Failure('usage', `--${branch === '' ? 'branch' : 'department'} is empty`, 'Write an id.');
  const { lead, issues } = parseLead(
    {
      ...testLeadFrom('`leadtap leads send-test`'),
      companyId: company,
      ...(branch !== undefined && { branchId: branch }),
      ...(department !== undefined && { departmentId: department }),
      id: `test-${v7({ msecs: now })}`,
      // Tomorrow, because an automation may refuse appointments in the past.
      appointmentDateTime: `${toIso(now + DAY_MS).slice(0, 10)}T14:00:00.000Z`,
      timeslot: '14:00',
    },
    { historical: false, clock: () => now },
  );
  // Only the ids of the command line can be invalid.
  if (issues) throw new Failure('usage', issues.map(formatIssue).join('; '));
  return lead;
}

async function sendTest(given: SendOptions, context: CommandContext): Promise<void> {
  const { stdout, stderr, clock, signal } = context;
  await withStore(context, async (store) => {
    const company = await findCompanyOrOnlyOne(store, given.company, signal);
    if (!company)
      throw new Failure(
        'usage',
        'there is not exactly one company',
        'Add --company ID. `leadtap org export` lists the companies.',
      );
    const options = { ...given, company: company.id };
    const { results } = await store.writeLeads([makeTestLead(options, clock())]);
    const [result] = results;
    if (result === undefined) throw new Error('the store returned no result');
    if (result.kind === 'rejected') throw await explain(result.problem, options, store, signal);
    const stored = await findLead(store, result.id, company.id, signal);
    const users = await findRecipients(store, stored, signal);
    const createdAt = toIso(result.createdAt);
    const { companyId, branchId, departmentId } = stored;
    if (options.json)
      return writeJson(stdout, {
        id: result.id,
        createdAt,
        companyId,
        branchId,
        departmentId,
        users: users.map(({ id, name, accessLevel }) => ({ id, name, accessLevel })),
      });
    await writeLine(stdout, `Test lead ${result.id} was added to company ${companyId} at ${createdAt}.`);
    if (users.length > 0) return printRecipients(users, stdout);
    await writeLine(stderr, `No user sees it: none with the plan ${PROFESSIONAL} has access to its place.`);
  });
}

/** The users who may poll and who see the lead. */
async function findRecipients(store: Store, stored: StoredLead, signal: AbortSignal): Promise<User[]> {
  const users: User[] = [];
  for await (const page of userPages(store, signal, stored.companyId))
    users.push(
      ...page.filter((user) => {
        const scope = pollScopeOf(user);
        return scope !== undefined && isInScope(scope, stored);
      }),
    );
  return users;
}

const MAX_USERS_SHOWN = 20;

async function printRecipients(users: readonly User[], stdout: CommandContext['stdout']): Promise<void> {
  const count = users.length === 1 ? 'This user gets' : `These ${users.length} users get`;
  await writeLine(stdout, `${count} it with the next poll:`);
  const table = new Table(stdout, ['USER', 'ACCESS', 'NAME'], { shortened: ['NAME'] });
  await table.add(
    users.slice(0, MAX_USERS_SHOWN).map(({ id, accessLevel, name }) => [id, accessLevel, name]),
  );
  const hidden = users.length - MAX_USERS_SHOWN;
  if (hidden > 0) await writeLine(stdout, `and ${hidden} more. --json lists all of them.`);
}

async function explain(
  problem: PlacementProblem,
  { company, branch }: PlacedOptions,
  store: Store,
  signal: AbortSignal,
): Promise<Failure> {
  if (problem.reason === 'in-another-branch')
    return new Failure(
      'bad-input',
      `department ${problem.value} belongs to branch ${problem.branchId}, not to ${branch ?? ''}`,
      'Leave --branch out.',
    );
  if (problem.reason === 'not-stored')
    return new Failure(
      'unavailable',
      'the test lead was not stored: a trigger of the database suppressed it',
    );
  const place = problem.field === 'branchId' ? 'branch' : 'department';
  return noSuchPlace(store, company, place, problem.value ?? '', signal);
}
