import { type Command, Option } from 'commander';
import { noSuchCompany, noSuchPlace, requirePart } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { withInvocation } from '../../cli/invocation.ts';
import { writeJson, writeLine } from '../../cli/output.ts';
import { mayPoll } from '../../leads/access.ts';
import type { Store } from '../../store/store.ts';
import { ACCESS_LEVELS, findEmailProblem, findPlanProblem, findTextProblem } from '../organisation-fields.ts';
import type { AccessLevel, User } from '../records.ts';
import type { AddUserOutcome } from '../store.ts';

const HELP = `
The access level decides which leads the user sees: COMPANY all leads of the company, BRANCH those of one branch,
DEPARTMENT those of one department. Only users with the plan PROFESSIONAL may poll.

Examples:
  leadtap user add zoe --company soleil --name "Zoe Moreau" --email zoe@example.com --plan PROFESSIONAL --access-level COMPANY
  leadtap user add bo --company soleil --plan PROFESSIONAL --access-level BRANCH --branch lyon
  leadtap user add cy --company soleil --plan PROFESSIONAL --access-level DEPARTMENT --department lyon-repairs`;

interface AddOptions {
  readonly company: string;
  readonly plan: string;
  readonly accessLevel: AccessLevel;
  readonly email?: string;
  readonly name?: string;
  readonly branch?: string;
  readonly department?: string;
  readonly json?: true;
}

export function registerUserAdd(user: Command, context: CommandContext): void {
  user
    .command('add')
    .description('add a user')
    .argument('<id>', 'id of the new user')
    .option('--company <id>', 'company of the user; required')
    .option('--email <address>', 'e-mail address of the user')
    .option('--name <name>', 'name of the user')
    .option('--plan <plan>', 'an upper-case word; only PROFESSIONAL may poll; required')
    .addOption(
      new Option('--access-level <level>', 'which leads the user sees; required').choices(ACCESS_LEVELS),
    )
    .option('--branch <id>', 'branch, for the access level BRANCH')
    .option('--department <id>', 'department, for the access level DEPARTMENT')
    .option('--json', 'print the user as JSON')
    .addHelpText('after', HELP)
    .action((id: string, options: Partial<AddOptions>) => {
      requireAll(options);
      return addUser(id, options, context);
    });
}

/** All at once; Commander would report one after the other. */
function requireAll(options: Partial<AddOptions>): asserts options is AddOptions {
  const { company, plan, accessLevel } = options;
  const missing = [
    ...(company === undefined ? ['--company ID'] : []),
    ...(plan === undefined ? ['--plan PROFESSIONAL'] : []),
    ...(accessLevel === undefined ? [`--access-level ${ACCESS_LEVELS.join('|')}`] : []),
  ];
  if (missing.length > 0) throw new Failure('usage', `user add needs ${missing.join(', ')}`);
}

async function addUser(id: string, options: AddOptions, context: CommandContext): Promise<void> {
  const wanted = toUser(id, options);
  const user = await withStore(context, async (store) => {
    const outcome = await requirePart(store.addUser?.bind(store))(wanted);
    if (outcome.kind === 'added') return outcome.user;
    throw await explain(outcome, wanted, store, context.signal);
  });
  if (options.json) return writeJson(context.stdout, user);
  await writeLine(context.stdout, `User ${id} was added.`);
  const hint = mayPoll(user)
    ? `\`leadtap token issue --user ${id}\` creates a token.`
    : `Polls are refused until the plan is PROFESSIONAL: \`leadtap user set ${id} --plan PROFESSIONAL\`.`;
  await writeLine(context.stderr, withInvocation(hint, context));
}

function toUser(id: string, options: AddOptions): User {
  const { company: companyId, plan, accessLevel, branch, department, name, email } = options;
  refuseUnusedPlace(options, accessLevel);
  const problems = [
    ['the id', findTextProblem(id)],
    ['--plan', findPlanProblem(plan)],
    ['--name', name === undefined ? undefined : findTextProblem(name)],
    ['--email', email === undefined ? undefined : findEmailProblem(email)],
    ['--branch', accessLevel === 'BRANCH' && branch === undefined ? 'is needed for BRANCH' : undefined],
    [
      '--department',
      accessLevel === 'DEPARTMENT' && department === undefined ? 'is needed for DEPARTMENT' : undefined,
    ],
  ].filter(([, problem]) => problem !== undefined);
  if (problems.length > 0)
    throw new Failure('usage', problems.map((problem) => problem.join(' ')).join('; '));
  return {
    id,
    companyId,
    plan,
    accessLevel,
    name: name ?? null,
    email: email ?? null,
    branchId: branch ?? null,
    departmentId: department ?? null,
  };
}

/** A branch that the access level ignores would look like a restriction. */
export function refuseUnusedPlace(
  { branch, department }: Pick<AddOptions, 'branch' | 'department'>,
  level: AccessLevel,
): void {
  const places = [
    { flag: '--branch', value: branch, needed: 'BRANCH' },
    { flag: '--department', value: department, needed: 'DEPARTMENT' },
  ];
  for (const { flag, value, needed } of places)
    if (value !== undefined && level !== needed)
      throw new Failure(
        'usage',
        `${flag} has no effect at the access level ${level}`,
        `Add --access-level ${needed}, or remove ${flag}.`,
      );
}

async function explain(
  outcome: Exclude<AddUserOutcome, { kind: 'added' }>,
  wanted: User,
  store: Store,
  signal: AbortSignal,
): Promise<Failure> {
  const { id, companyId } = wanted;
  switch (outcome.kind) {
    case 'exists':
      return new Failure(
        'conflict',
        `user ${id} exists already, in company ${outcome.user.companyId}; nothing was changed`,
        `\`leadtap user set ${id}\` changes a user.`,
      );
    case 'no-such-company':
      return noSuchCompany(store, companyId, signal);
    case 'place-missing':
    case 'place-unknown': {
      const place = outcome.field === 'branchId' ? 'branch' : 'department';
      return noSuchPlace(store, companyId, place, wanted[outcome.field] ?? '', signal);
    }
  }
}
