import type { Command } from 'commander';
import { companyPages, findCompany, organisationOf } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { write } from '../../cli/output.ts';
import type { Store } from '../../store/store.ts';
import type { User } from '../records.ts';
import type { StoredCompany } from '../store.ts';

const HELP = `
Prints the organisation file of what is stored: \`leadtap org apply\` of the same file changes nothing, and on an empty
database it creates the same organisation. The same data always gives the same bytes: companies, branches, departments and
users are sorted by id, statuses by their order. Any number of users is possible. Leads and tokens are not part of it.

Examples:
  leadtap org export > organisation.json
  leadtap org export --company soleil > soleil.json
  leadtap org export | jq '.companies[].users | length'`;

export function registerOrgExport(org: Command, context: CommandContext): void {
  org
    .command('export')
    .summary('print companies and users as a file')
    .description('Print companies, branches, departments, statuses and users as an organisation file (JSON).')
    .option('--company <id>', 'only this company')
    .option('--json', 'the same: the file is always JSON')
    .addHelpText('after', HELP)
    .action(({ company }: { company?: string }) =>
      withStore(context, (store) => exportOrganisation(store, company, context)),
    );
}

async function exportOrganisation(
  store: Store,
  companyId: string | undefined,
  { stdout, signal }: CommandContext,
): Promise<void> {
  const pages =
    companyId === undefined ? companyPages(store, signal) : [[await findCompany(store, companyId, signal)]];
  let separator = '';
  await write(stdout, '{\n  "companies": [');
  for await (const page of pages)
    for (const company of page) {
      await write(stdout, `${separator}\n${formatCompany(company)}`);
      await writeUsers(store, company, { stdout, signal });
      await write(stdout, '\n    }');
      separator = ',';
    }
  await write(stdout, separator === '' ? ']\n}\n' : '\n  ]\n}\n');
}

/** One item per line. */
const formatList = (items: readonly object[], indent: string): string =>
  items.length === 0
    ? '[]'
    : `[\n${items.map((item) => `${indent}  ${JSON.stringify(item)}`).join(',\n')}\n${indent}]`;

/** A company that another program has inserted may have no statuses; an organisation file must not have an empty list. */
function formatCompany({ id, name, statuses, branches }: StoredCompany): string {
  const indent = '      ';
  return [
    '    {',
    `${indent}"id": ${JSON.stringify(id)},`,
    `${indent}"name": ${JSON.stringify(name)},`,
    ...(statuses.length === 0 ? [] : [`${indent}"statuses": ${formatList(statuses, indent)},`]),
    `${indent}"branches": ${formatList(branches, indent)},`,
    `${indent}"users": `,
  ]
    .join('\n')
    .trimEnd();
}

const USERS_PER_PAGE = 500;

async function writeUsers(
  store: Store,
  company: StoredCompany,
  { stdout, signal }: Pick<CommandContext, 'stdout' | 'signal'>,
): Promise<void> {
  const places = new Set(
    company.branches.flatMap(({ id, departments }) => [
      `BRANCH ${id}`,
      ...departments.map((department) => `DEPARTMENT ${department.id}`),
    ]),
  );
  let page: readonly User[] = [];
  let separator = ' [\n';
  do {
    signal.throwIfAborted();
    page = await organisationOf(store).readUsers(company.id, page.at(-1)?.id, USERS_PER_PAGE);
    for (const user of page) refuseNewPlace(user, places);
    if (page.length > 0)
      await write(stdout, separator + page.map((user) => `        ${formatUser(user)}`).join(',\n'));
    if (page.length > 0) separator = ',\n';
  } while (page.length === USERS_PER_PAGE);
  await write(stdout, separator === ',\n' ? '\n      ]' : ' []');
}

/** Pages are read one after the other. The place of a user may have been created after the places were read. */
function refuseNewPlace(
  { id, accessLevel, branchId, departmentId }: User,
  places: ReadonlySet<string>,
): void {
  if (accessLevel === 'COMPANY') return;
  const placeId = accessLevel === 'BRANCH' ? branchId : departmentId;
  if (places.has(`${accessLevel} ${placeId}`)) return;
  throw new Failure(
    'unavailable',
    `user ${id} was moved to a new place during the export; the output is incomplete`,
    'Run the command again.',
  );
}

/** Only the place that the access level needs. */
const formatUser = ({ id, email, name, plan, accessLevel, branchId, departmentId }: User): string =>
  JSON.stringify({
    id,
    email,
    name,
    plan,
    accessLevel,
    ...(accessLevel === 'BRANCH' && { branchId }),
    ...(accessLevel === 'DEPARTMENT' && { departmentId }),
  });
