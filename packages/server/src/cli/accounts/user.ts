import type { Command } from 'commander';
import {
  ACCESS_LEVELS,
  findEmailProblem,
  findPlanProblem,
  findTextProblem,
} from '../../accounts/organisation-fields.ts';
import type { AccessLevel, User } from '../../accounts/records.ts';
import type { StoredCompany, UserChanges } from '../../accounts/store.ts';
import { MAX_REFUSED_LEADS } from '../../intake/store.ts';
import { mayPoll } from '../../leads/access.ts';
import { printable } from '../../lib/escape.ts';
import { plural } from '../../lib/formats.ts';
import { addCommand } from '../command.ts';
import { HANDLED_OPTION, type HandledFlag } from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { printList, writeHint, writeJson, writeLine } from '../output.ts';
import { settleOwed } from '../owed.ts';
import { findCompany, findUser, noSuchPlace, noSuchUser, userPages } from './organisation.ts';

/** Of `user add` and `user set`. */
const USER_OPTIONS = {
  '--email <address>': 'e-mail address of the user',
  '--name <name>': 'name of the user',
  '--plan <plan>': 'an upper-case word; only PROFESSIONAL may poll',
  '--access-level <level>': { text: 'which leads the user sees', choices: ACCESS_LEVELS },
  '--branch <id>': 'branch, for the access level BRANCH',
  '--department <id>': 'department, for the access level DEPARTMENT',
  '--json': 'print the user as JSON',
};

interface UserOptions {
  readonly company?: string;
  readonly plan?: string;
  readonly accessLevel?: AccessLevel;
  readonly branch?: string;
  readonly department?: string;
  readonly name?: string;
  readonly email?: string;
  readonly json?: true;
}

export function registerUser(program: Command, context: CommandContext): void {
  const user = program.command('user').description('manage the users who poll');
  addCommand(user, context, {
    name: 'list',
    description: 'list all users, sorted by id',
    options: { '--json': 'print an array of users' },
    examples: [
      'leadtap user list',
      `leadtap user list --json | jq -r '.[] | select(.plan != "PROFESSIONAL") | .id'`,
    ],
    run: listUsers,
  });
  addCommand(user, context, {
    name: 'add',
    description: 'add a user',
    arguments: { '<id>': 'id of the new user' },
    options: { '--company <id>': 'company of the user', ...USER_OPTIONS },
    help: `
--company, --plan and --access-level are required. The access level decides which leads the user sees: COMPANY all leads
of the company, BRANCH those of one branch, DEPARTMENT those of one department. Only users with the plan PROFESSIONAL
may poll.`,
    examples: [
      'leadtap user add zoe --company soleil --name "Zoe Moreau" --email zoe@example.com --plan PROFESSIONAL --access-level COMPANY',
      'leadtap user add bo --company soleil --plan PROFESSIONAL --access-level BRANCH --branch lyon',
      'leadtap user add cy --company soleil --plan PROFESSIONAL --access-level DEPARTMENT --department lyon-repairs',
    ],
    run: addUser,
  });
  addCommand(user, context, {
    name: 'set',
    description: 'change a user',
    arguments: { '<id>': 'id of the user' },
    options: USER_OPTIONS,
    help: 'Only the given options change. An empty --name or --email removes the value.',
    examples: [
      'leadtap user set ada --plan PROFESSIONAL',
      'leadtap user set ben --access-level BRANCH --branch lille',
      'leadtap user set ben --access-level DEPARTMENT --department lyon-repairs',
    ],
    run: setUser,
  });
  addCommand(user, context, {
    name: 'remove',
    description: 'remove a user',
    arguments: { '<id>': 'id of the user' },
    options: HANDLED_OPTION,
    help: `
Tokens of the user get the response 404. If a user of this id is added again, tokens that were issued here before are
revoked and get 401, and tokens of your identity provider work again. The leads stay.`,
    examples: ['leadtap user remove ben'],
    run: removeUser,
  });
}

const listUsers = (context: CommandContext, { json }: { readonly json?: true }): Promise<void> =>
  withStore(context, async (store) => {
    const { signal } = context;
    const count = await printList(context, userPages(store, signal), json, {
      headings: ['ID', 'COMPANY', 'PLAN', 'ACCESS', 'BRANCH', 'DEPARTMENT', 'NAME', 'E-MAIL'],
      toRow: ({ id, companyId, plan, accessLevel, branchId, departmentId, name, email }) => [
        ...[id, companyId, plan, accessLevel, branchId, departmentId, name, email],
      ],
    });
    const hint = 'There are no users yet. `leadtap org apply` creates them.';
    if (count === 0 && !json) await writeHint(context, hint);
  });

/** A change of the organisation as that of a file with this user alone. */
async function addUser(context: CommandContext, options: UserOptions, id: string): Promise<void> {
  const wanted = toUserInput(options, id);
  const user = await withStore(context, async (store): Promise<User> => {
    const { statuses: _kept, ...company } = await findCompany(store, wanted.companyId);
    const user = { ...wanted, branchId: findBranchId(company, wanted) };
    const organisation = { companies: [{ ...company, users: [user] }] };
    const outcome = await store.applyOrganisation(organisation, { onlyNewUsers: true });
    if (outcome.kind === 'applied') return user;
    const existing = outcome.conflicts.find((conflict) => conflict.kind === 'user-exists');
    if (existing)
      throw new Failure(
        'conflict',
        `user ${id} exists already, in company ${existing.companyId}; nothing was changed`,
        `\`leadtap user set ${id}\` changes a user.`,
      );
    throw new Failure('conflict', `company ${company.id} was changed meanwhile`, 'Run the command again.');
  });
  if (options.json) return writeJson(context.stdout, user);
  await writeLine(context.stdout, `User ${id} was added.`);
  const hint = mayPoll(user)
    ? `\`leadtap token issue --user ${id}\` creates a token.`
    : `Polls are refused until the plan is PROFESSIONAL: \`leadtap user set ${id} --plan PROFESSIONAL\`.`;
  await writeHint(context, hint);
}

function toUserInput(options: UserOptions, id: string): User {
  const { company: companyId, plan, accessLevel, branch, department } = options;
  if (companyId === undefined || plan === undefined || accessLevel === undefined)
    throw new Failure('usage', `user add needs --company, --plan and --access-level`);
  const idProblem = findTextProblem(id);
  if (idProblem !== undefined) throw new Failure('usage', `the id ${idProblem}`);
  const { name = null, email = null } = toChanges(options);
  checkPlace(options, accessLevel);
  const needed = PLACE_OF[accessLevel];
  if (needed !== undefined && options[needed] === undefined)
    throw new Failure('usage', `--${needed} is needed for ${accessLevel}`);
  const place = { branchId: branch ?? null, departmentId: department ?? null };
  return { id, companyId, plan, accessLevel, name, email, ...place };
}

/** The branch of the user, or of the user's department. */
function findBranchId(
  { id: companyId, branches }: Pick<StoredCompany, 'id' | 'branches'>,
  { branchId, departmentId }: User,
): string | null {
  const branch = branches.find(({ id, departments }) =>
    departmentId === null
      ? id === branchId
      : departments.some((department) => department.id === departmentId),
  );
  if (departmentId !== null && !branch) throw noSuchPlace(companyId, 'department', departmentId);
  if (branchId !== null && !branch) throw noSuchPlace(companyId, 'branch', branchId);
  return branch?.id ?? null;
}

async function setUser(context: CommandContext, options: UserOptions, id: string): Promise<void> {
  const changes = toChanges(options);
  if (Object.keys(changes).length === 0)
    throw new Failure('usage', 'there is nothing to change', 'Give at least one option. --help lists them.');
  const { before, after } = await withStore(context, async (store) => {
    const before = await findUser(store, id);
    checkPlace(options, options.accessLevel ?? before.accessLevel);
    const outcome = await store.updateUser(id, changes);
    if (outcome.kind === 'updated') return { before, after: outcome.user };
    if (outcome.kind === 'no-such-user') throw noSuchUser(id);
    const place = outcome.field === 'branchId' ? 'branch' : 'department';
    throw outcome.kind === 'place-missing'
      ? new Failure('usage', `the access level of user ${id} needs a ${place}`, `Add --${place} ID.`)
      : noSuchPlace(before.companyId, place, options[place] ?? '');
  });
  if (options.json) return writeJson(context.stdout, after);
  const lines = changedFields(before, after);
  const summary =
    lines.length === 0 ? `User ${id} already has these values. Nothing changed.` : `User ${id} was changed.`;
  await writeLine(context.stdout, [summary, ...lines].join('\n'));
}

/** What the options change. An empty name or e-mail address is none. */
function toChanges({ plan, accessLevel, branch, department, name, email }: UserOptions): UserChanges {
  const problems = [
    ['--plan', plan === undefined ? undefined : findPlanProblem(plan)],
    ['--name', name ? findTextProblem(name) : undefined],
    ['--email', email ? findEmailProblem(email) : undefined],
  ].filter(([, problem]) => problem !== undefined);
  if (problems.length > 0)
    throw new Failure('usage', problems.map((problem) => problem.join(' ')).join('; '));
  return {
    ...(plan !== undefined && { plan }),
    ...(accessLevel !== undefined && { accessLevel }),
    ...(branch !== undefined && { branchId: branch }),
    ...(department !== undefined && { departmentId: department }),
    ...(name !== undefined && { name: name || null }),
    ...(email !== undefined && { email: email || null }),
  };
}

/** The place that an access level needs. */
const PLACE_OF = { COMPANY: undefined, BRANCH: 'branch', DEPARTMENT: 'department' } as const;

/** A branch that the access level ignores would look like a restriction. */
function checkPlace(options: UserOptions, level: AccessLevel): void {
  for (const place of ['branch', 'department'] as const)
    if (options[place] !== undefined && PLACE_OF[level] !== place)
      throw new Failure(
        'usage',
        `--${place} has no effect at the access level ${level}`,
        `Add --access-level ${place.toUpperCase()}, or remove --${place}.`,
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

const changedFields = (before: User, after: User): string[] =>
  (Object.keys(LABELS) as (keyof typeof LABELS)[])
    .filter((field) => before[field] !== after[field])
    .map((field) => `  ${LABELS[field]}: ${shown(before[field])} -> ${shown(after[field])}`);

const shown = (value: string | null): string => printable(value ?? 'none');

async function removeUser(context: CommandContext, flags: HandledFlag, id: string): Promise<void> {
  const { count, refused } = await withStore(context, async (store, config) => {
    const issued = await store.listTokens(id);
    const companyId = (await store.findUser(id))?.companyId;
    const held =
      companyId === undefined ? [] : await store.refusedLeads.list({ companyId, limit: MAX_REFUSED_LEADS });
    await settleOwed({ context, store, config }, flags, { userId: id }, async () => {
      if (!(await store.removeUser(id))) throw noSuchUser(id);
    });
    return {
      count: issued.filter(({ revokedAt }) => revokedAt === null).length,
      refused: held.filter(({ userId }) => userId === id).length,
    };
  });
  const tokens = plural(count, 'token was', 'tokens were');
  await writeLine(context.stdout, `User ${id} was removed, and ${tokens} revoked.`);
  const requests = plural(refused, 'refused request was', 'refused requests were');
  if (refused > 0) await writeLine(context.stdout, `${requests} held: deleted with the user.`);
}
