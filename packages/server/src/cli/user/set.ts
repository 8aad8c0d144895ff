import { type Command, Option } from 'commander';
import {
  ACCESS_LEVELS,
  findEmailProblem,
  findPlanProblem,
  findTextProblem,
} from '../../accounts/organisation.ts';
import type { AccessLevel, User } from '../../store/records.ts';
import type { UpdateUserOutcome, UserChanges } from '../../store/store.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { findUser, noSuchUser } from '../find-user.ts';
import { writeJson, writeLine } from '../output.ts';
import type { WithStore } from '../with-store.ts';

const HELP = `
Only what is given changes. An empty --name or --email removes it.

Examples:
  leadtap user set ada --plan PROFESSIONAL
  leadtap user set bo --access-level BRANCH --branch lyon
  leadtap user set cy --access-level DEPARTMENT --department repairs`;

interface SetOptions {
  readonly plan?: string;
  readonly accessLevel?: AccessLevel;
  readonly branch?: string;
  readonly department?: string;
  readonly name?: string;
  readonly email?: string;
  readonly json?: true;
}

export function registerUserSet(user: Command, context: CommandContext, withStore: WithStore): void {
  user
    .command('set')
    .summary('change a user')
    .description('Change the plan, the access level, the place or the names of a user.')
    .argument('<id>', 'the id of the user')
    .option('--plan <plan>', 'PROFESSIONAL may poll; any other upper-case word may not')
    .addOption(new Option('--access-level <level>', 'whose leads the user sees').choices(ACCESS_LEVELS))
    .option('--branch <id>', 'the branch, for the access level BRANCH')
    .option('--department <id>', 'the department, for the access level DEPARTMENT')
    .option('--name <name>', 'the name of the user')
    .option('--email <address>', 'the e-mail address of the user')
    .option('--json', 'print the user as JSON')
    .addHelpText('after', HELP)
    .action((id: string, options: SetOptions) => setUser(id, options, context, withStore));
}

async function setUser(
  id: string,
  options: SetOptions,
  { stdout }: CommandContext,
  withStore: WithStore,
): Promise<void> {
  const changes = toChanges(options);
  const { before, after } = await withStore(async (store) => {
    const before = await findUser(store, id);
    refuseIdlePlace(options, options.accessLevel ?? before.accessLevel);
    return { before, after: updatedUser(id, options, await store.updateUser(id, changes)) };
  });
  if (options.json) return writeJson(stdout, after);
  const lines = changedFields(before, after);
  if (lines.length === 0) return writeLine(stdout, `User ${id} had these values already. Nothing changed.`);
  await writeLine(stdout, [`User ${id} was changed.`, ...lines].join('\n'));
}

function toChanges({ plan, accessLevel, branch, department, name, email }: SetOptions): UserChanges {
  const problems = [
    ['--plan', plan === undefined ? undefined : findPlanProblem(plan)],
    ['--name', name ? findTextProblem(name) : undefined],
    ['--email', email ? findEmailProblem(email) : undefined],
  ].filter(([, problem]) => problem !== undefined);
  const changes: UserChanges = {
    ...(plan !== undefined && { plan }),
    ...(accessLevel !== undefined && { accessLevel }),
    ...(branch !== undefined && { branchId: branch }),
    ...(department !== undefined && { departmentId: department }),
    ...(name !== undefined && { name: name || null }),
    ...(email !== undefined && { email: email || null }),
  };
  if (problems.length > 0)
    throw new Failure('usage', problems.map((problem) => problem.join(' ')).join('; '));
  if (Object.keys(changes).length === 0)
    throw new Failure('usage', 'there is nothing to change', 'Give at least one of the options in --help.');
  return changes;
}

/** A place that the access level does not look at would be taken for a restriction. */
function refuseIdlePlace({ branch, department }: SetOptions, level: AccessLevel): void {
  const refuse = (flag: string, needed: AccessLevel): never => {
    throw new Failure(
      'usage',
      `${flag} does nothing at the access level ${level}`,
      `Add --access-level ${needed}, or leave ${flag} out.`,
    );
  };
  if (branch !== undefined && level !== 'BRANCH') refuse('--branch', 'BRANCH');
  if (department !== undefined && level !== 'DEPARTMENT') refuse('--department', 'DEPARTMENT');
}

function updatedUser(id: string, options: SetOptions, outcome: UpdateUserOutcome): User {
  if (outcome.kind === 'updated') return outcome.user;
  if (outcome.kind === 'no-such-user') throw noSuchUser(id);
  const place = outcome.field === 'branchId' ? 'branch' : 'department';
  if (outcome.kind === 'place-missing')
    throw new Failure('usage', `the access level of user ${id} needs a ${place}`, `Add --${place} ID.`);
  throw new Failure(
    'not-found',
    `the company of user ${id} has no ${place} ${options[place] ?? ''}`,
    `Give the id of one of its own; \`leadtap org apply\` creates them.`,
  );
}

const LABELS = {
  plan: 'plan',
  accessLevel: 'access level',
  branchId: 'branch',
  departmentId: 'department',
  name: 'name',
  email: 'e-mail',
} as const satisfies Partial<Record<keyof User, string>>;

/** A line for each field that differs, with the old and the new value. */
const changedFields = (before: User, after: User): string[] =>
  (Object.keys(LABELS) as (keyof typeof LABELS)[])
    .filter((field) => before[field] !== after[field])
    .map((field) => `  ${LABELS[field]}: ${printable(before[field])} -> ${printable(after[field])}`);

const printable = (value: string | null): string => (value ?? 'none').replace(/\p{Cc}/gu, '?');
