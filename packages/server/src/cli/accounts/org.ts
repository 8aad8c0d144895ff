import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Organisation, User } from '../../accounts/records.ts';
import { loadSigningKeys } from '../../accounts/signing-keys.ts';
import type { OrganisationChanges, OrganisationConflict } from '../../accounts/store.ts';
import { messageOf } from '../../lib/system-error.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { Failure } from '../exit.ts';
import { fileFailure } from '../failure.ts';
import { Table, write, writeJson, writeLine } from '../output.ts';
import { companiesOf, userPages } from './organisation.ts';

export function registerOrg(program: Command, context: CommandContext): void {
  const org = program
    .command('org')
    .description('manage companies, branches, departments, statuses and users');
  addCommand(org, context, {
    name: 'apply',
    summary: 'create or update companies and users from a file',
    description: 'Create or update companies, branches, departments, statuses and users from a JSON file.',
    arguments: { '<file>': 'the organisation file, or - for standard input' },
    options: { '--json': 'print the changes as JSON' },
    help: `
The file lists companies, each with its branches, departments, statuses and users:
  { "companies": [ { "id": "soleil", "name": "Soleil Roofing",
      "branches": [ { "id": "lyon", "name": "Lyon", "departments": [ { "id": "lyon-repairs", "name": "Repairs" } ] } ],
      "users": [ { "id": "ada", "name": "Ada Moreau", "plan": "PROFESSIONAL", "accessLevel": "COMPANY" },
                 { "id": "ben", "plan": "PROFESSIONAL", "accessLevel": "BRANCH", "branchId": "lyon" } ] } ] }

The command creates what is new and updates what differs. It does not remove what the file leaves out, with one
exception: if a company lists its statuses, a status that is not in the list and that no lead has is removed.
If you apply the same file again, nothing changes. If the file has errors, nothing changes and all errors are listed.`,
    examples: ['leadtap org apply organisation.json', 'make-organisation | leadtap org apply - --json'],
    run: applyFile,
  });
  addCommand(org, context, {
    name: 'export',
    summary: 'print companies and users as a file',
    description: 'Print companies, branches, departments, statuses and users as an organisation file (JSON).',
    options: { '--company <id>': 'only this company', '--json': 'the same: the file is always JSON' },
    help: `
Prints the organisation file of what is stored: \`leadtap org apply\` of the same file changes nothing, and on an empty
database it creates the same organisation. The same data always gives the same bytes: companies, branches, departments and
users are sorted by id, statuses by their order. Leads and tokens are not part of it.`,
    examples: [
      'leadtap org export > organisation.json',
      'leadtap org export --company soleil > soleil.json',
      `leadtap org export | jq '.companies[].users | length'`,
    ],
    run: exportFile,
  });
}

async function applyFile(
  context: CommandContext,
  { json }: { readonly json?: true },
  file: string,
): Promise<void> {
  const organisation = await readOrganisation(file, context);
  const changes = await withStore(
    context,
    async (store, config) => {
      // Created here, so that no later command creates another key in another folder.
      await loadSigningKeys(config.signingKey);
      const outcome = await store.applyOrganisation(organisation);
      if (outcome.kind === 'applied') return outcome.changes;
      const lines = outcome.conflicts.flatMap(explainConflict);
      throw new Failure('conflict', 'the file conflicts with the stored data; nothing was changed', ...lines);
    },
    { create: true },
  );
  await (json ? writeJson(context.stdout, changes) : printChanges(context, changes));
}

async function readOrganisation(file: string, context: CommandContext): Promise<Organisation> {
  const source = file === '-' ? 'standard input' : file;
  const json = parseJson(source, await readText(file, source, context));
  const { parseOrganisation } = await import('../../accounts/organisation.ts');
  const parsed = parseOrganisation(json);
  if (parsed.kind === 'ok') return parsed.organisation;
  const lines = parsed.problems.map(({ path, detail }) => `${path || 'the file'} ${detail}`);
  throw new Failure('bad-input', `${source} is not a valid organisation file; nothing was changed`, ...lines);
}

async function readText(
  file: string,
  source: string,
  { cwd, stdin, signal }: CommandContext,
): Promise<string> {
  try {
    return await (file === '-'
      ? readAll(addAbortSignal(signal, stdin))
      : readFile(resolve(cwd, file), { encoding: 'utf8', signal }));
  } catch (error) {
    signal.throwIfAborted();
    throw fileFailure(source, error);
  }
}

function parseJson(source: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new Failure(
      'bad-input',
      `${source} is not JSON; nothing was changed`,
      // Some versions of Node quote a part of the file, with its line breaks.
      messageOf(error).replace(/\s+/g, ' '),
      '`leadtap org apply --help` shows an example.',
    );
  }
}

function explainConflict(conflict: OrganisationConflict): string[] {
  if (conflict.kind === 'user-in-another-company') {
    const { userId, companyId, existingCompanyId } = conflict;
    return [
      `User ${userId} belongs to company ${existingCompanyId}, not to ${companyId}.`,
      `To move the user, run \`leadtap user remove ${userId}\`, then apply the file again. Otherwise use another id.`,
    ];
  }
  if (conflict.kind === 'user-exists') return [`User ${conflict.userId} exists already.`];
  const { departmentId, companyId, branchId, existingBranchId } = conflict;
  return [
    `Department ${departmentId} of company ${companyId} belongs to branch ${existingBranchId}, not to ${branchId}.`,
    'A department cannot move to another branch, because its leads would move with it. Use another id for the new department.',
  ];
}

const KINDS = ['companies', 'branches', 'departments', 'statuses', 'users'] as const;

async function printChanges({ stdout, stderr }: CommandContext, changes: OrganisationChanges): Promise<void> {
  const table = new Table(stdout, ['', 'CREATED', 'UPDATED', 'UNCHANGED']);
  await table.add(
    KINDS.map((kind) => {
      const { created, updated, unchanged } = changes[kind];
      return [kind, `${created}`, `${updated}`, `${unchanged}`];
    }),
  );
  for (const { companyId, value } of changes.keptStatuses)
    await writeLine(stderr, `Status ${value} of company ${companyId} was kept: leads still have it.`);
  for (const { companyId, value } of changes.removedStatuses)
    await writeLine(
      stderr,
      `Status ${value} of company ${companyId} was removed: the file does not list it.`,
    );
}

/** Company by company. */
const exportFile = (context: CommandContext, { company: companyId }: { company?: string }): Promise<void> =>
  withStore(context, async (store) => {
    const { stdout, signal } = context;
    let before = '{\n  "companies": [';
    for await (const { id, name, statuses, branches } of companiesOf(store, signal, companyId)) {
      const users: object[] = [];
      for await (const page of userPages(store, signal, id)) users.push(...page.map(toFileUser));
      // A company that another program has inserted may have no statuses; a file must not have an empty list.
      const company = { id, name, ...(statuses.length > 0 && { statuses }), branches, users };
      const text = JSON.stringify(company, undefined, 2).replaceAll('\n', '\n    ');
      await write(stdout, `${before}\n    ${text}`);
      before = ',';
    }
    await write(stdout, before === ',' ? '\n  ]\n}\n' : `${before}]\n}\n`);
  });

/** Only the place that the access level needs. */
const toFileUser = ({ id, email, name, plan, accessLevel, branchId, departmentId }: User) => ({
  ...{ id, email, name, plan, accessLevel },
  ...(accessLevel === 'BRANCH' && { branchId }),
  ...(accessLevel === 'DEPARTMENT' && { departmentId }),
});
