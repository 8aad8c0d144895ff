import { testLeadFrom } from '@leadtap/contract';
import type { Command } from 'commander';
import { v7 } from 'uuid';
import { PROFESSIONAL, type User } from '../../accounts/records.ts';
import { mayPoll, maySee } from '../../leads/access.ts';
import { formatIssue, parseLead } from '../../leads/parse-lead.ts';
import { violation } from '../../leads/placement-issues.ts';
import type { LeadInput, StoredLead } from '../../leads/record.ts';
import type { PlacementProblem } from '../../leads/store.ts';
import { toIso } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { findCompanyOrOnlyOne, noSuchPlace, userPages } from '../accounts/organisation.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { Table, writeJson, writeLine } from '../output.ts';
import { warnAboutService } from '../running-service.ts';
import { findLead } from './find.ts';

export function registerLeadsSendTest(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'send-test',
    description: 'add a test lead, to watch it arrive in an automation platform',
    options: {
      '--company <id>': 'the company that gets the lead (default: the only one)',
      '--branch <id>': 'the branch of the lead',
      '--department <id>': 'the department of the lead, which also sets the branch',
      '--json':
        'print { id, createdAt, companyId, branchId, departmentId, users: [{ id, name, accessLevel }] }',
    },
    help: `
The lead is called "Test Lead", and its notes and custom fields say that it is a test. Every automation that sees leads
at this place runs for it, as for a real lead: use it to try a new automation, or to find out where leads get stuck.`,
    examples: [
      'leadtap leads send-test --company soleil',
      'leadtap leads send-test --company soleil --department lyon-repairs',
      'leadtap leads send-test --company soleil --json | jq -r .id',
    ],
    run: sendTest,
  });
}

interface SendOptions {
  readonly company?: string;
  readonly branch?: string;
  readonly department?: string;
  readonly json?: true;
}

type PlacedOptions = SendOptions & { readonly company: string };

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

async function sendTest(context: CommandContext, given: SendOptions): Promise<void> {
  const { stdout, stderr, clock, signal } = context;
  await withStore(context, async (store, config) => {
    const company = await findCompanyOrOnlyOne(store, given.company);
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
    if (result.kind === 'rejected') throw explain(result.problem, options);
    const stored = await findLead(store, result.id, company.id);
    const users = await findRecipients(store, stored, signal);
    const { id } = result;
    const createdAt = toIso(result.createdAt);
    const { companyId, branchId, departmentId } = stored;
    if (options.json) {
      const shown = users.map(({ id, name, accessLevel }) => ({ id, name, accessLevel }));
      return writeJson(stdout, { id, createdAt, companyId, branchId, departmentId, users: shown });
    }
    await writeLine(stdout, `Test lead ${id} was added to company ${companyId} at ${createdAt}.`);
    await warnAboutService(context, config);
    if (users.length > 0) return printRecipients(users, stdout);
    await writeLine(stderr, `No user sees it: none with the plan ${PROFESSIONAL} has access to its place.`);
  });
}

/** The users who may poll and who see the lead. */
async function findRecipients(store: Store, stored: StoredLead, signal: AbortSignal): Promise<User[]> {
  const users: User[] = [];
  for await (const page of userPages(store, signal, stored.companyId))
    users.push(...page.filter((user) => mayPoll(user) && maySee(user, stored)));
  return users;
}

const MAX_USERS_SHOWN = 20;

async function printRecipients(users: readonly User[], stdout: CommandContext['stdout']): Promise<void> {
  const count = users.length === 1 ? 'This user gets' : `These ${users.length} users get`;
  await writeLine(stdout, `${count} it, with the next poll or by a webhook:`);
  await new Table(stdout, ['USER', 'ACCESS', 'NAME']).add(
    users.slice(0, MAX_USERS_SHOWN).map(({ id, accessLevel, name }) => [id, accessLevel, name]),
  );
  const hidden = users.length - MAX_USERS_SHOWN;
  if (hidden > 0) await writeLine(stdout, `and ${hidden} more. --json lists all of them.`);
}

function explain(problem: PlacementProblem, { company, branch }: PlacedOptions): Failure {
  if (problem.reason === 'in-another-branch')
    return new Failure(
      'bad-input',
      `department ${problem.value} belongs to branch ${problem.branchId}, not to ${branch ?? ''}`,
      'Leave --branch out.',
    );
  if (problem.reason === 'not-stored')
    return new Failure(
      'unavailable',
      problem.constraint === undefined
        ? 'the test lead was not stored: a trigger of the database suppressed it'
        : `the test lead was not stored: it ${violation(problem.constraint)}`,
    );
  return noSuchPlace(company, problem.field === 'branchId' ? 'branch' : 'department', problem.value ?? '');
}
