import type { Command } from 'commander';
import type { User } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { noSuchUser } from './find-user.ts';
import { Table, writeJsonArray, writeLine } from './output.ts';
import { registerUserSet } from './user/set.ts';
import type { WithStore } from './with-store.ts';

const LIST_HELP = `
Examples:
  leadtap user list
  leadtap user list --json | jq -r '.[] | select(.plan != "PROFESSIONAL") | .id'`;

const REMOVE_HELP = `
From then on the tokens of the user are answered with 404. Leads are not touched.

Example:
  leadtap user remove ada`;

const USERS_PER_PAGE = 500;

export function registerUser(program: Command, context: CommandContext, withStore: WithStore): void {
  const user = program.command('user').summary('the users who poll').description('The users who poll.');
  user
    .command('list')
    .summary('list all users')
    .description('List all users, in the order of their ids.')
    .option('--json', 'print an array of users')
    .addHelpText('after', LIST_HELP)
    .action(({ json }: { json?: true }) => withStore((store) => listUsers(store, context, json === true)));
  registerUserSet(user, context, withStore);
  user
    .command('remove')
    .summary('remove a user')
    .description('Remove a user.')
    .argument('<id>', 'the id of the user')
    .addHelpText('after', REMOVE_HELP)
    .action((id: string) => removeUser(id, context, withStore));
}

/** All users in the order of their ids, a page at a time: any number of them fits into memory. */
export async function* userPages(store: Store, signal: AbortSignal): AsyncGenerator<readonly User[]> {
  let page: readonly User[] = [];
  do {
    signal.throwIfAborted();
    page = await store.listUsers(page.at(-1)?.id, USERS_PER_PAGE);
    yield page;
  } while (page.length === USERS_PER_PAGE);
}

async function listUsers(store: Store, context: CommandContext, json: boolean): Promise<void> {
  const pages = userPages(store, context.signal);
  if (json) return writeJsonArray(context.stdout, pages);
  const table = new Table(context.stdout, HEADINGS);
  let count = 0;
  for await (const page of pages) {
    count += page.length;
    await table.add(page.map(toRow));
  }
  if (count === 0)
    await writeLine(context.stderr, 'There are no users yet. `leadtap org apply` creates them.');
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

async function removeUser(id: string, { stdout }: CommandContext, withStore: WithStore): Promise<void> {
  const removed = await withStore((store) => store.removeUser(id));
  if (!removed) throw noSuchUser(id);
  await writeLine(stdout, `User ${id} was removed.`);
}
