import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure, fileFailure } from '../../cli/failure.ts';
import { Table, writeJson, writeLine } from '../../cli/output.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../store/store.ts';
import { messageOf } from '../../system-error.ts';
import type { Organisation } from '../records.ts';
import { loadSigningKeys } from '../signing-keys.ts';
import type { OrganisationChanges, OrganisationConflict } from '../store.ts';
import { registerOrgExport } from './org-export.ts';

const HELP = `
The file lists companies, each with its branches, departments, statuses and users:
  { "companies": [ { "id": "soleil", "name": "Soleil Roofing",
      "branches": [ { "id": "lyon", "name": "Lyon", "departments": [ { "id": "lyon-repairs", "name": "Repairs" } ] } ],
      "users": [ { "id": "ada", "name": "Ada Moreau", "plan": "PROFESSIONAL", "accessLevel": "COMPANY" },
                 { "id": "ben", "plan": "PROFESSIONAL", "accessLevel": "BRANCH", "branchId": "lyon" } ] } ] }

The command creates what is new and updates what differs. It does not remove what the file leaves out, with one
exception: if a company lists its statuses, a status that is not in the list and that no lead has is removed.
If you apply the same file again, nothing changes. If the file has errors, nothing changes and all errors are listed.

Examples:
  leadtap org apply organisation.json
  make-organisation | leadtap org apply - --json`;

export function registerOrg(program: Command, context: CommandContext): void {
  const org = program
    .command('org')
    .description('manage companies, branches, departments, statuses and users');
  org
    .command('apply')
    .summary('create or update companies and users from a file')
    .description('Create or update companies, branches, departments, statuses and users from a JSON file.')
    .argument('<file>', 'the organisation file, or - for standard input')
    .option('--json', 'print the changes as JSON')
    .addHelpText('after', HELP)
    .action((file: string, { json }: { json?: true }) => applyOrganisation(file, json === true, context));
  registerOrgExport(org, context);
}

async function applyOrganisation(file: string, json: boolean, context: CommandContext): Promise<void> {
  const organisation = await readOrganisation(file, await readText(file, context));
  const apply = async (store: Store, config: Config) => {
    // Created here, so that no later command creates another key in another folder.
    await loadSigningKeys(config.signingKey);
    const outcome = await store.applyOrganisation(organisation);
    if (outcome.kind === 'conflict') throw conflictFailure(outcome.conflicts);
    return outcome.changes;
  };
  const changes = await withStore(context, apply, { create: true });
  await (json ? writeJson(context.stdout, changes) : printChanges(context, changes));
}

async function readText(file: string, { cwd, stdin, signal }: CommandContext): Promise<string> {
  try {
    return await (file === '-'
      ? readAll(addAbortSignal(signal, stdin))
      : readFile(resolve(cwd, file), { encoding: 'utf8', signal }));
  } catch (error) {
    signal.throwIfAborted();
    throw fileFailure(sourceOf(file), error);
  }
}

const sourceOf = (file: string): string => (file === '-' ? 'standard input' : file);

async function readOrganisation(file: string, text: string): Promise<Organisation> {
  const source = sourceOf(file);
  const json = parseJson(source, text);
  const { parseOrganisation } = await import('../organisation.ts');
  const parsed = parseOrganisation(json);
  if (parsed.kind === 'ok') return parsed.organisation;
  const lines = parsed.problems.map(({ path, detail }) => `${path || 'the file'} ${detail}`);
  throw new Failure('bad-input', `${source} is not a valid organisation file; nothing was changed`, ...lines);
}

function parseJson(source: string, text: string): unknown {
  if (/^\s*$/.test(text))
    throw new Failure(
      'bad-input',
      `${source} is empty; nothing was changed`,
      'Give an organisation file. `leadtap org apply --help` shows an example.',
    );
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    // Some versions of Node quote a part of the file, with its line breaks.
    const reason = messageOf(error).replace(/\s+/g, ' ');
    throw new Failure(
      'bad-input',
      `${source} is not JSON; nothing was changed`,
      `${lineOf(text, reason)}${reason}`,
    );
  }
}

/** JSON.parse gives a position; an editor shows lines. */
function lineOf(text: string, reason: string): string {
  const position = /at position (\d+)/.exec(reason)?.[1];
  return position === undefined ? '' : `Line ${text.slice(0, Number(position)).split('\n').length}: `;
}

function conflictFailure(conflicts: readonly OrganisationConflict[]): Failure {
  const lines = conflicts.flatMap((conflict) => explainConflict(conflict));
  return new Failure('conflict', 'the file conflicts with the stored data; nothing was changed', ...lines);
}

function explainConflict(conflict: OrganisationConflict): string[] {
  if (conflict.kind === 'user-in-another-company') {
    const { userId, companyId, existingCompanyId } = conflict;
    return [
      `User ${userId} belongs to company ${existingCompanyId}, not to ${companyId}.`,
      `To move the user, run \`leadtap user remove ${userId}\`, then apply the file again. Otherwise use another id.`,
    ];
  }
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
