import { LEAD_FIELDS, type Lead, type LeadFieldName } from '@leadtap/contract';
import type { Command } from 'commander';
import { findCompany } from '../../cli/company.ts';
import { type CommandContext, withStore } from '../../cli/context.ts';
import { Failure } from '../../cli/failure.ts';
import { type Output, printable, widthOf, write, writeJson } from '../../cli/output.ts';
import { describeLeadConsumers, findLeadConsumers, toJsonConsumer } from '../../consumers/lead-states.ts';
import { isJsonObject } from '../../json.ts';
import type { Store } from '../../store/store.ts';
import type { StoredLead } from '../record.ts';
import { toWire } from '../render.ts';
import { toJsonLead } from './list.ts';

const HELP = `
Below the fields, one line for each consumer (a token that polls or has a webhook subscription) that may see the lead:
  confirmed   the consumer has sent a since that is not before this lead
  delivered   the lead, or a newer one, was sent to the consumer
  waiting     neither
The JSON is the lead as the API has it, with companyId, branchId, departmentId and consumers.

Examples:
  leadtap leads show 4711
  leadtap leads show 4711 --company soleil --json`;

interface ShowOptions {
  readonly company?: string;
  readonly json?: true;
}

export function registerLeadsShow(leads: Command, context: CommandContext): void {
  leads
    .command('show')
    .description('show all fields of a lead, and who has it')
    .argument('<id>', 'id of the lead')
    .option('--company <id>', 'the company of the lead; needed if several companies have a lead with this id')
    .option('--json', 'print the lead as the API has it, with consumers: [{ tokenId, name, userId, state }]')
    .addHelpText('after', HELP)
    .action((id: string, { company, json }: ShowOptions) =>
      withStore(context, async (store, config) => {
        const { stdout, clock, signal } = context;
        const lead = await findLead(store, id, company, signal);
        const now = clock();
        // Positions that are no longer written would be wrong.
        const consumers = config.consumers
          ? await findLeadConsumers(store, config, lead, now, signal)
          : undefined;
        if (json)
          return writeJson(stdout, {
            ...toJsonLead(lead),
            ...(consumers && { consumers: consumers.map(toJsonConsumer) }),
          });
        const lines = consumers && describeLeadConsumers(consumers, lead, now);
        return write(stdout, describeLead(lead, lines, stdout));
      }),
    );
}

const MAX_COMPANIES_SHOWN = 20;

/** The only lead with this id. Throws if there is none, or if several companies have one. */
export async function findLead(
  store: Store,
  id: string,
  companyId: string | undefined,
  signal: AbortSignal,
): Promise<StoredLead> {
  const [lead, ...others] = await store.findLeads(id, companyId);
  if (lead && others.length === 0) return lead;
  if (lead) {
    const ids = [lead, ...others].map((found) => found.companyId);
    const more = ids.length > MAX_COMPANIES_SHOWN ? ' and others' : '';
    throw new Failure(
      'conflict',
      `${ids.length} companies have a lead ${id}: ${ids.slice(0, MAX_COMPANIES_SHOWN).join(', ')}${more}`,
      `Say which one you mean: --company ${lead.companyId}`,
    );
  }
  if (companyId === undefined)
    throw new Failure('not-found', `there is no lead ${id}`, '`leadtap leads list` shows the newest leads.');
  await findCompany(store, companyId, signal);
  const [elsewhere] = await store.findLeads(id);
  const fix = elsewhere
    ? `Company ${elsewhere.companyId} has a lead with this id.`
    : `\`leadtap leads list --company ${companyId}\` shows its newest leads.`;
  throw new Failure('not-found', `company ${companyId} has no lead ${id}`, fix);
}

/** The name of a place, and its id. */
const named = (name: string | null, id: string | null): string =>
  name === null ? '-' : `${name} (${id ?? '-'})`;

/** Fields that are shown in their own way. */
const FORMATS: { readonly [Name in LeadFieldName]?: (lead: Lead, stored: StoredLead) => string } = {
  status: ({ status }) => `${status.label} (${status.value})${status.final ? ', final' : ''}`,
  companyName: ({ companyName }, { companyId }) => named(companyName, companyId),
  branchName: ({ branchName }, { branchId }) => named(branchName, branchId),
  departmentName: ({ departmentName }, { departmentId }) => named(departmentName, departmentId),
};

/** Shown as part of the status. */
const HIDDEN: readonly LeadFieldName[] = ['statusValue'];

function formatValue(value: unknown): string {
  if (value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(String).join('\n') || '-';
  if (!isJsonObject(value)) return String(value);
  const lines = Object.entries(value).map(
    ([name, inner]) => `${name}: ${typeof inner === 'string' ? inner : JSON.stringify(inner)}`,
  );
  return lines.join('\n') || '-';
}

const GAP = 2;
const MIN_TEXT_WIDTH = 20;

/** One line for each field, then the consumers. Long texts continue below their beginning. */
function describeLead(stored: StoredLead, consumers: readonly string[] | undefined, out: Output): string {
  const wire = toWire(stored.lead);
  const fields = LEAD_FIELDS.filter(({ name }) => !HIDDEN.includes(name)).map(
    ({ name, label }) => [label, FORMATS[name]?.(wire, stored) ?? formatValue(wire[name])] as const,
  );
  const entries = consumers ? [...fields, ['Consumers', consumers.join('\n')] as const] : fields;
  const indent = Math.max(...entries.map(([label]) => label.length)) + GAP;
  const width = out.isTTY ? Math.max(MIN_TEXT_WIDTH, widthOf(out) - indent) : Number.POSITIVE_INFINITY;
  const lines = entries.flatMap(([label, text]) =>
    text
      .split(/\r?\n/)
      .flatMap((line) => wrap(printable(line), width))
      .map((line, index) => `${(index === 0 ? label : '').padEnd(indent)}${line}`.trimEnd()),
  );
  return `${lines.join('\n')}\n`;
}

/** Breaks a line between words, and words that are longer than a line. */
function wrap(line: string, width: number): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest];
}
