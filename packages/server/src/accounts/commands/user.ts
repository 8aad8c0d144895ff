import { type Command, Option } from 'commander';
import {
  describeCount,
  findUser,
  noSuchPlace,
  noSuchUser,
  organisationOf,
  revokeAll,
} from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { withInvocation } from '../../cli/invocation.ts';
import { printable, TABLE_HELP, Table, writeJson, writeJsonArray, writeLine } from '../../cli/output.ts';
import type { Store } from '../../store/store.ts';
import { ACCESS_LEVELS, findEmailProblem, findPlanProblem, findTextProblem } from '../organisation-fields.ts';
import type { AccessLevel, User } from '../records.ts';
import type { UpdateUserOutcome, UserChanges } from '../store.ts';
import { refuseUnusedPlace, registerUserAdd } from './user-add.ts';

const LIST_HELP = `
${TABLE_HELP}

Examples:
  leadtap user list
  leadtap user list --json | jq -r '.[] | select(.plan != "PROFESSIONAL") | .id'`;

const SET_HELP = `
Only the given options change. An empty --name or --email removes the value.

Examples:
  leadtap user set ada --plan PROFESSIONAL
  leadtap user set ben --access-level BRANCH --branch lille
  leadtap user set ben --access-level DEPARTMENT --department lyon-repairs`;

const REMOVE_HELP = `
Also revokes the tokens that were issued here for the user: they stay revoked if a user of this id is added again. Tokens
of your identity provider get the response 404 until then. The leads stay.

Example:
  leadtap user remove ben`;

interface SetOptions {
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
  user
    .command('list')
    .description('list all users, sorted by id')
    .option('--json', 'print an array of users')
    .addHelpText('after', LIST_HELP)
    .action(({ json }: { json?: true }) =>
      withStore(context, (store) => listUsers(store, context, json === true)),
    );
  registerUserAdd(user, context);
  user
    .command('set')
    .description('change a user')
    .argument('<id>', 'id of the user')
    .option('--plan <plan>', 'an upper-case word; only PROFESSIONAL may poll')
    .addOption(new Option('--access-level <level>', 'which leads the user sees').choices(ACCESS_LEVELS))
    .option('--branch <id>', 'branch, for the access level BRANCH')
    .option('--department <id>', 'department, for the access level DEPARTMENT')
    .option('--name <name>', 'name of the user')
    .option('--email <address>', 'e-mail address of the user')
    .option('--json', 'print the user as JSON')
    .addHelpText('after', SET_HELP)
    .action((id: string, options: SetOptions) => setUser(id, options, context));
  user
    .command('remove')
    .description('remove a user')
    .argument('<id>', 'id of the user')
    .addHelpText('after', REMOVE_HELP)
    .action((id: string) => removeUser(id, context));
}

const USERS_PER_PAGE = 500;

/** All users, or those of a company, sorted by id, page by page, so that any number of them fits into memory. */
export async function* userPages(
  store: Store,
  signal: AbortSignal,
  companyId?: string,
): AsyncGenerator<readonly User[]> {
  let page: readonly User[] = [];
  do {
    signal.throwIfAborted();
    const afterId = page.at(-1)?.id;
    page =
      companyId === undefined
        ? await store.listUsers(afterId, USERS_PER_PAGE)
        : await organisationOf(store).readUsers(companyId, afterId, USERS_PER_PAGE);
    yield page;
  } while (page.length === USERS_PER_PAGE);
}

const HEADINGS = ['ID', 'COMPANY', 'PLAN', 'ACCESS', 'BRANCH', 'DEPARTMENT', 'NAME', 'E-MAIL'];

const toRow = (user: User) => [
  user.id,
  user.companyId,
  user.plan,
  user.accessLevel,
  user.branchId,
  user.departmentId,
  user.name,
  user.email,
];

async function listUsers(store: Store, context: CommandContext, json: boolean): Promise<void> {
  const { stdout, stderr, signal } = context;
  const pages = userPages(store, signal);
  if (json) return writeJsonArray(stdout, pages);
  const shortened = ['E-MAIL', 'NAME', 'DEPARTMENT', 'BRANCH', 'COMPANY'];
  const optional = ['DEPARTMENT', 'BRANCH', 'E-MAIL', 'NAME'];
  const table = new Table(stdout, HEADINGS, { shortened, optional });
  let count = 0;
  for await (const page of pages) {
    count += page.length;
    await table.add(page.map(toRow));
  }
  if (count > 0) return;
  const hint = 'There are no users yet. `leadtap org apply` creates them.';
  await writeLine(stderr, withInvocation(hint, context));
}

async function setUser(id: string, options: SetOptions, context: CommandContext): Promise<void> {
  const changes = toChanges(options);
  const { before, after } = await withStore(context, async (store) => {
    const before = await findUser(store, id);
    refuseUnusedPlace(options, options.accessLevel ?? before.accessLevel);
    const outcome = await store.updateUser(id, changes);
    if (outcome.kind === 'updated') return { before, after: outcome.user };
    throw await explain(outcome, before, options, store, context.signal);
  });
  if (options.json) return writeJson(context.stdout, after);
  const lines = changedFields(before, after);
  const summary =
    lines.length === 0 ? `User ${id} already has these values. Nothing changed.` : `User ${id} was changed.`;
  await writeLine(context.stdout, [summary, ...lines].join('\n'));
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
    throw new Failure('usage', 'there is nothing to change', 'Give at least one option. --help lists them.');
  return changes;
}

async function explain(
  outcome: Exclude<UpdateUserOutcome, { kind: 'updated' }>,
  { id, companyId }: User,
  options: SetOptions,
  store: Store,
  signal: AbortSignal,
): Promise<Failure> {
  if (outcome.kind === 'no-such-user') return noSuchUser(store, id);
  const place = outcome.field === 'branchId' ? 'branch' : 'department';
  if (outcome.kind === 'place-missing')
    return new Failure('usage', `the access level of user ${id} needs a ${place}`, `Add --${place} ID.`);
  return noSuchPlace(store, companyId, place, options[place] ?? '', signal);
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

async function removeUser(id: string, context: CommandContext): Promise<void> {
  const count = await withStore(context, async (store) => {
    await findUser(store, id);
    // First, so that no token works again if this is interrupted.
    const revoked = await revokeAll(store, await store.listTokens(id));
    if (!(await store.removeUser(id))) throw await noSuchUser(store, id);
    return revoked;
  });
  await writeLine(context.stdout, `User ${id} was removed, and ${describeCount(count)} revoked.`);
}
