import type { LeadError } from '@leadtap/contract';
import type { Command } from 'commander';
import { type AcceptOutcome, acceptRefused } from '../../intake/accept-refused.ts';
import type { RefusedLeadWithBody, StoredRefusedLead } from '../../intake/store.ts';
import type { LeadInput } from '../../leads/record.ts';
import { shownNames, shownQuestions } from '../../leads/shown-names.ts';
import type { WrittenLead } from '../../leads/store.ts';
import { MAX_TIME, toIso } from '../../lib/clock.ts';
import { escapeJson, printable } from '../../lib/escape.ts';
import { formatDuration, plural } from '../../lib/formats.ts';
import { pagesOf } from '../../lib/pages.ts';
import type { Store } from '../../store/store.ts';
import { findCompany } from '../accounts/organisation.ts';
import { addCommand } from '../command.ts';
import { type ConfirmFlags, confirmOrStop, requireConsent } from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { EXIT_CODES, ExitCode, Failure } from '../exit.ts';
import { checkFields, collectPairs, type FieldMap } from '../field-map.ts';
import { formatLeadCount, printList, writeHint, writeJson, writeJsonArray, writeLine } from '../output.ts';

const SELECTION = {
  '--all': 'all refused requests, instead of ids',
  '--connection <name>': 'with --all: only those of the connection with this name or id',
  '--company <id>': 'with --all: only those of this company',
};

export function registerRefused(leads: Command, context: CommandContext): void {
  const refused = leads.command('refused').description('see, accept or delete refused requests');
  addCommand(refused, context, {
    name: 'list',
    description: 'list requests that sent leads and were refused',
    options: {
      '--company <id>': 'only those of this company',
      '--connection <name>': 'only those of the connection with this name or id',
      '--json':
        'print an array of { id, companyId, tokenId, connection, source, receivedAt, lastAt, times, code, errors }',
    },
    help: `
POST /leads holds requests that it refuses: with invalid leads, an expired token, or a token without the scope leads:write.
They are held for 30 days, at most 1,000 and 16 MiB for each company, half of it for one connection. Further ones are lost, and
their answer says so ("held": false). A row is deleted when the same body is accepted later. The list has names of fields, and no
values; a name that may be a value is "other". \`leadtap leads refused show\` has all.`,
    examples: ['leadtap leads refused list', 'leadtap leads refused list --company soleil --json'],
    run: listRefused,
  });
  addCommand(refused, context, {
    name: 'show',
    description: 'print a refused request, with its body',
    arguments: { '<id>': 'id of the request; `leadtap leads refused list` shows it' },
    examples: ['leadtap leads refused show 01994c2e-8f6b-7c3a-9d51-0e2f4a6b8c10'],
    run: showRefused,
  });
  addCommand(refused, context, {
    name: 'accept',
    description: 'store the leads of refused requests',
    arguments: { '[ids...]': 'ids of the requests' },
    options: {
      ...SELECTION,
      '--map <name=field>': {
        text: 'the field of a name in the body, or of a question of a form; can be given several times',
        parse: collectPairs('Write NAME=FIELD, such as mail=email.'),
      },
      '--dry-run': 'show what would be stored, and store nothing',
      '--json': 'print an array of { id, accepted, leads, message, errors }',
    },
    help: `
Puts the requests through the same checks again, with the present place of their users: all leads of a request are stored,
or none. Leads without an id get one that derives from the id of the request: accepting it twice adds them once. So does a
lead whose id is that of another person. What was stored is deleted from the list.

--json: \`leads\` has { id, result } of each lead, and isIdNew if it has another id than it was sent with; with --dry-run all
that would be stored. The exit code is 1 if a request was refused again.`,
    examples: [
      'leadtap leads refused accept --all --connection "Web form" --map mail=email --dry-run',
      'leadtap leads refused accept --all --company soleil',
    ],
    run: accept,
  });
  addCommand(refused, context, {
    name: 'delete',
    description: 'delete refused requests without storing their leads',
    arguments: { '[ids...]': 'ids of the requests' },
    options: { ...SELECTION, '--yes': 'do not ask; needed with --all without a terminal' },
    examples: ['leadtap leads refused delete --all --connection "Old form" --yes'],
    run: deleteRefused,
  });
}

export const formatRefused = (count: number): string => plural(count, 'refused request');

const ROWS_PER_PAGE = 500;

export const refusedPages = (
  { refusedLeads }: Store,
  companyId: string | undefined,
): AsyncGenerator<readonly StoredRefusedLead[]> =>
  pagesOf(ROWS_PER_PAGE, (last, limit) => refusedLeads.list({ companyId, after: last?.id, limit }));

interface ListFlags {
  readonly company?: string;
  readonly connection?: string;
  readonly json?: true;
}

const isOf = (
  { connection, connectionId, tokenId }: StoredRefusedLead,
  wanted: string | undefined,
): boolean => wanted === undefined || [connection, connectionId, tokenId].includes(wanted);

const listRefused = (context: CommandContext, { company, connection, json }: ListFlags): Promise<void> =>
  withStore(context, async (store) => {
    const { stderr, clock } = context;
    if (company !== undefined) await findCompany(store, company);
    async function* pages() {
      for await (const page of refusedPages(store, company))
        yield page.filter((row) => isOf(row, connection));
    }
    const count = await printList(context, pages(), json, {
      toJson: listedJson,
      headings: ['ID', 'LAST', 'TIMES', 'CONNECTION', 'CODE', 'FIELDS', 'COMPANY'],
      toRow: (row) => [
        ...[row.id, `${formatDuration((clock() - row.lastAt) / 1000)} ago`, String(row.times)],
        ...[
          row.connection ?? row.tokenId ?? row.userId,
          row.code,
          shownIn(row, row.errors).join(', ') || null,
          row.companyId,
        ],
      ],
    });
    if (!json && count === 0) await writeLine(stderr, 'No refused request is held.');
  });

/** The questions of a form service are sentences. */
const shownIn = ({ code, source }: StoredRefusedLead, errors: readonly LeadError[]): readonly string[] => {
  const names = errors.map(({ field }) => field ?? 'lead');
  return code === 'no-contact' && source !== null ? shownQuestions(names) : shownNames(names);
};

const listedJson = (row: StoredRefusedLead) => ({
  ...toJson(row),
  errors: row.errors.map((error) => ({
    ...error,
    field: error.field === null ? null : (shownIn(row, [error])[0] ?? null),
  })),
});

const toJson = (row: StoredRefusedLead) => ({
  ...{
    id: row.id,
    companyId: row.companyId,
    tokenId: row.tokenId,
    connection: row.connection,
    source: row.source,
  },
  ...{ receivedAt: toIso(row.receivedAt), lastAt: toIso(row.lastAt), times: row.times },
  ...{ code: row.code, errors: row.errors },
});

const unknownId = (id: string): Failure =>
  new Failure(
    'not-found',
    `no refused request with the id ${id} is held`,
    '`leadtap leads refused list` shows the ids. Rows are deleted when the request is accepted, and after 30 days.',
  );

const showRefused = (context: CommandContext, _options: object, id: string): Promise<void> =>
  withStore(context, async ({ refusedLeads }) => {
    const row = await refusedLeads.find(id);
    if (!row) throw unknownId(id);
    const { mediaType, bytes, userId } = row;
    const text = row.body.toString();
    await writeJson(context.stdout, { ...toJson(row), userId, mediaType, bytes });
    await writeLine(context.stdout, `\n${text.split(/\r?\n/).map(printable).join('\n')}`);
  });

interface Selection {
  readonly all?: true;
  readonly connection?: string;
  readonly company?: string;
}

/** The ids of the requests that the flags name, the oldest first. */
async function selectIds(
  store: Store,
  ids: readonly string[],
  { all, connection, company }: Selection,
): Promise<readonly string[]> {
  if (all ? ids.length > 0 : ids.length === 0) throw new Failure('usage', 'give either ids or --all');
  if (!all && (connection !== undefined || company !== undefined))
    throw new Failure('usage', '--connection and --company work only with --all');
  if (!all) return ids;
  if (company !== undefined) await findCompany(store, company);
  const selected: string[] = [];
  const connections = new Set<string>();
  for await (const page of refusedPages(store, company))
    for (const row of page) {
      if (!isOf(row, connection)) continue;
      selected.push(row.id);
      connections.add(row.connectionId ?? `${row.companyId} ${row.userId}`);
    }
  if (connection !== undefined && connections.size > 1)
    throw new Failure(
      'usage',
      `${connections.size} connections are called "${printable(connection)}"`,
      'Give the id of one instead of the name:',
      ...connections,
    );
  if (connection !== undefined && selected.length === 0)
    throw new Failure(
      'not-found',
      `no refused request of ${printable(connection)} is held`,
      '`leadtap leads refused list` shows who sent them.',
    );
  return selected;
}

async function requireIds({ refusedLeads }: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) if (!(await refusedLeads.find(id))) throw unknownId(id);
}

interface AcceptFlags extends Selection {
  readonly map?: FieldMap;
  readonly dryRun?: true;
  readonly json?: true;
}

async function accept(context: CommandContext, flags: AcceptFlags, ids: readonly string[]): Promise<void> {
  const { map: given = [], dryRun, json } = flags;
  const { clock, signal, stdout, stderr } = context;
  checkFields(given, clock);
  const map = Object.fromEntries(given);
  await withStore(context, async (store, { timeZone }) => {
    let [requests, leads, failed] = [0, 0, 0];
    const selected = await selectIds(store, ids, flags);
    if (!flags.all) await requireIds(store, selected);
    async function* outcomes(): AsyncGenerator<readonly [Accepted]> {
      for (const id of selected) {
        if (signal.aborted) break;
        const row = await store.refusedLeads.find(id);
        // Accepted or deleted meanwhile, or a repetition of one before.
        if (!row) continue;
        const user = await store.findUser(row.userId);
        const outcome: AcceptOutcome =
          user?.companyId === row.companyId
            ? await acceptRefused(row, { store, user, clock, timeZone, map, dryRun })
            : { kind: 'refused', message: `user ${row.userId} does not exist any more`, errors: [] };
        if (outcome.kind === 'refused') failed += 1;
        else requests += 1;
        if (outcome.kind === 'accepted') leads += outcome.results.length;
        if (!dryRun && outcome.kind !== 'refused') {
          if (outcome.kind === 'accepted') await countAccepted(store, row, outcome.results, clock());
          // Like a request that is accepted over HTTP: another token of the user may have sent the same body.
          const { companyId, userId, source, bodyHash } = row;
          await store.refusedLeads.removeAccepted([{ companyId, userId, source, bodyHash, at: MAX_TIME }]);
        }
        yield [{ id, outcome }];
      }
    }
    if (json) await writeJsonArray(stdout, outcomes(), (one) => acceptedJson(one, dryRun));
    else {
      for await (const [{ id, outcome }] of outcomes())
        if (outcome.kind === 'refused') await writeLine(stderr, describeRefusal(id, outcome));
        else if (outcome.kind === 'accepted') {
          for (const index of outcome.withNewId)
            await writeLine(stderr, `${id}: ${describeNewId(index, outcome.leads[index])}`);
          if (dryRun) await writeJson(stdout, { id, leads: leadsJson(outcome, dryRun) });
        }
      const verb = dryRun ? 'would be accepted' : 'accepted';
      await writeLine(stdout, `${plural(requests, 'request')} ${verb}: ${formatLeadCount(leads)}`);
    }
    if (failed === 0) return;
    await writeHint(context, describeFix(failed));
    throw new ExitCode(EXIT_CODES.failed);
  });
}

interface Accepted {
  readonly id: string;
  readonly outcome: AcceptOutcome;
}

/** Its leads as they would be stored, or what was stored. */
const acceptedJson = ({ id, outcome }: Accepted, dryRun: true | undefined) => ({
  id,
  accepted: outcome.kind !== 'refused',
  leads: outcome.kind === 'accepted' ? leadsJson(outcome, dryRun) : [],
  message: outcome.kind === 'refused' ? outcome.message : null,
  errors: outcome.kind === 'refused' ? outcome.errors : [],
});

const leadsJson = (
  { leads, results, withNewId }: Extract<AcceptOutcome, { kind: 'accepted' }>,
  dryRun: true | undefined,
): object[] =>
  dryRun
    ? leads.map(({ fields, ...place }) => ({ ...place, ...fields }))
    : results.map(({ id, kind }, index) => ({
        ...{ id, result: kind },
        ...(withNewId.has(index) && { isIdNew: true }),
      }));

const describeNewId = (index: number, lead: LeadInput | undefined): string =>
  `the id of lead ${index} is that of another person, so its new id is ${lead?.id ?? ''}`;

/** Its connection has added them now. */
const countAccepted = (
  { connections }: Pick<Store, 'connections'>,
  { userId, tokenId, client }: RefusedLeadWithBody,
  results: readonly WrittenLead[],
  now: number,
) => {
  const added = results.filter(({ kind }) => kind === 'added').length;
  return connections.record([
    {
      ...{ userId, kind: 'send', keyId: tokenId, isKnownOnly: true, tokenExpiresAt: undefined },
      ...(client === null ? { source: 'token' } : { source: 'provider', client }),
      ...{ polls: [], pushes: [] },
      sends: [
        {
          ...{ firstAt: now, lastAt: now, times: 1, status: 201, code: null, isHeld: false, fields: [] },
          ...{ added, updated: results.length - added, durationMs: null, isAccepted: true },
        },
      ],
    },
  ]);
};

const MAX_SHOWN_ERRORS = 10;

function describeRefusal(
  id: string,
  { message, errors }: Extract<AcceptOutcome, { kind: 'refused' }>,
): string {
  const shown = errors.slice(0, MAX_SHOWN_ERRORS).map(({ index, field, detail }) => {
    return `  lead ${index}: ${field === null ? '' : `${printable(field)} `}${printable(detail)}`;
  });
  const rest = errors.length - shown.length;
  return [`${id}: ${escapeJson(message)}`, ...shown, ...(rest > 0 ? [`  and ${rest} more`] : [])].join('\n');
}

const describeFix = (failed: number): string =>
  `${plural(failed, 'request')} refused again and still held. To rename a field, add --map OLD=FIELD, such as branchId=customFields.branch for a branch that does not exist; to see a body, run \`leadtap leads refused show ID\`; to delete a request, \`leadtap leads refused delete ID\`.`;

interface DeleteFlags extends Selection, ConfirmFlags {}

async function deleteRefused(
  context: CommandContext,
  flags: DeleteFlags,
  given: readonly string[],
): Promise<void> {
  await withStore(context, async (store) => {
    const ids = await selectIds(store, given, flags);
    if (!flags.all) await requireIds(store, ids);
    if (flags.all && ids.length > 0) {
      const fix = 'Add --yes to delete without a question. `leadtap leads refused list` shows the requests.';
      requireConsent('leads refused delete --all', flags, context, fix);
      await confirmOrStop(`Delete ${plural(ids.length, 'request')} for good?`, flags, context);
    }
    const removed = await store.refusedLeads.remove(ids);
    await writeLine(context.stdout, `${plural(removed, 'request')} deleted`);
  });
}
