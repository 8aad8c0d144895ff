import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { parseOrganisation } from '../accounts/organisation.ts';
import { loadSigningKeys } from '../accounts/signing-keys.ts';
import type { Organisation } from '../store/records.ts';
import type { OrganisationChanges, OrganisationConflict } from '../store/store.ts';
import { systemCode } from '../system-error.ts';
import type { CommandContext } from './context.ts';
import { Failure } from './failure.ts';
import { Table, writeJson, writeLine } from './output.ts';
import type { WithStore } from './with-store.ts';

const HELP = `
The file lists companies, each with its branches, departments, statuses and users:
  { "companies": [ { "id": "soleil", "name": "Soleil Roofing",
      "branches": [ { "id": "lyon", "name": "Lyon", "departments": [ { "id": "repairs", "name": "Repairs" } ] } ],
      "users": [ { "id": "ada", "name": "Ada Moreau", "plan": "PROFESSIONAL", "accessLevel": "COMPANY" },
                 { "id": "bo", "plan": "PROFESSIONAL", "accessLevel": "BRANCH", "branchId": "lyon" } ] } ] }

What is new is created, what differs is updated, and what the file does not mention stays as it is. Only a status
is removed: where a company lists its statuses, one that it no longer lists and that no lead has. Applying the same
file again changes nothing. A file with a mistake changes nothing either, and every mistake is listed.

Examples:
  leadtap org apply organisation.json
  make-organisation | leadtap org apply - --json`;

export function registerOrg(program: Command, context: CommandContext, withStore: WithStore): void {
  const org = program
    .command('org')
    .summary('companies, places, statuses and users')
    .description('Companies, with their places, statuses and users.');
  org
    .command('apply')
    .summary('create or update all of them from a file')
    .description('Create or update companies, branches, departments, statuses and users from a JSON file.')
    .argument('<file>', 'the organisation file, or - for standard input')
    .option('--json', 'print the changes as JSON')
    .addHelpText('after', HELP)
    .action(async (file: string, { json }: { json?: true }) => {
      const organisation = await readOrganisation(file, await readText(file, context));
      const changes = await withStore(async (store, config) => {
        // With it, a new installation is complete: no later command makes a key of its own in another folder.
        await loadSigningKeys(config.signingKey);
        const outcome = await store.applyOrganisation(organisation);
        if (outcome.kind === 'conflict') throw conflictFailure(outcome.conflicts);
        return outcome.changes;
      });
      await (json ? writeJson(context.stdout, changes) : printChanges(context, changes));
    });
}

async function readText(file: string, { cwd, stdin, signal }: CommandContext): Promise<string> {
  try {
    return await (file === '-'
      ? readAll(addAbortSignal(signal, stdin))
      : readFile(resolve(cwd, file), { encoding: 'utf8', signal }));
  } catch (error) {
    signal.throwIfAborted();
    if (systemCode(error) === 'ENOENT')
      throw new Failure(
        'not-found',
        `there is no file ${file}`,
        'Check the path. "-" reads from standard input.',
      );
    throw new Failure(
      'bad-input',
      `${sourceOf(file)} cannot be read`,
      'Check the path, or write - for standard input.',
    ).causedBy(error);
  }
}

const sourceOf = (file: string): string => (file === '-' ? 'standard input' : file);

async function readOrganisation(file: string, text: string): Promise<Organisation> {
  const source = sourceOf(file);
  const parsed = await parseOrganisation(parseJson(source, text));
  if (parsed.kind === 'ok') return parsed.organisation;
  const lines = parsed.problems.map(({ path, detail }) => `${path || 'the file'} ${detail}`);
  throw new Failure('bad-input', `${source} is not a right organisation file; nothing was changed`, ...lines);
}

function parseJson(source: string, text: string): unknown {
  if (/^\s*$/.test(text))
    throw new Failure(
      'bad-input',
      `${source} is empty; nothing was changed`,
      'It must hold an organisation file; `leadtap org apply --help` shows one.',
    );
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    // Some versions of Node quote a part of the file, line breaks and all.
    const reason = String(error)
      .replace(/^SyntaxError: /, '')
      .replace(/\s+/g, ' ');
    throw new Failure(
      'bad-input',
      `${source} is not JSON; nothing was changed`,
      `${lineOf(text, reason)}${reason}`,
    );
  }
}

/** JSON.parse tells a position, which people cannot find in a file as they can find a line. */
function lineOf(text: string, reason: string): string {
  const position = /at position (\d+)/.exec(reason)?.[1];
  return position === undefined ? '' : `Line ${text.slice(0, Number(position)).split('\n').length}: `;
}

function conflictFailure(conflicts: readonly OrganisationConflict[]): Failure {
  const lines = conflicts.flatMap((conflict) => explainConflict(conflict));
  return new Failure('conflict', 'the file contradicts what is stored; nothing was changed', ...lines);
}

function explainConflict(conflict: OrganisationConflict): string[] {
  if (conflict.kind === 'user-in-another-company') {
    const { userId, companyId, existingCompanyId } = conflict;
    return [
      `User ${userId} belongs to company ${existingCompanyId}, not to ${companyId}.`,
      `To move the user: leadtap user remove ${userId}, then apply the file again. Otherwise give another id.`,
    ];
  }
  const { departmentId, companyId, branchId, existingBranchId } = conflict;
  return [
    `Department ${departmentId} of company ${companyId} belongs to branch ${existingBranchId}, not to ${branchId}.`,
    'A department does not move, because its leads would move with it: give the new one another id.',
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
      `Status ${value} of company ${companyId} was removed: the file lists it no more.`,
    );
}
