import { LEAD_FIELDS, type Lead, type LeadConnections, type LeadFieldName } from '@leadtap/contract';
import type { Command } from 'commander';
import { listOutcomes } from '../../connections/lead-outcome.ts';
import type { StoredLead } from '../../leads/record.ts';
import { toWire } from '../../leads/render.ts';
import { printable } from '../../lib/escape.ts';
import { isJsonObject } from '../../lib/json.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { write, writeJson } from '../output.ts';
import { findLead, toJsonLead } from './find.ts';

export function registerLeadsShow(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'show',
    description: 'show all fields of a lead, and what became of it',
    arguments: { '<id>': 'id of the lead' },
    options: {
      '--company <id>': 'the company of the lead; needed if several companies have a lead with this id',
      '--json': 'print the lead as the API has it, with out: [{ id, name, state, at, why }]',
    },
    help: `
Below the fields, one line for each connection that leads go to:
  sent      it was written to it, or its webhook has accepted it
  waiting   it will be sent
  missed    it was not sent, and the connection asked for later leads
  none      it is not meant for it
The JSON is the lead as the API has it, with companyId, branchId, departmentId, and \`out\` as in
GET {base_url}/automation/connections?lead=ID.`,
    examples: ['leadtap leads show 4711', 'leadtap leads show 4711 --company soleil --json'],
    run: showLead,
  });
}

interface ShowOptions {
  readonly company?: string;
  readonly json?: true;
}

const showLead = (context: CommandContext, { company, json }: ShowOptions, id: string): Promise<void> =>
  withStore(context, async (store) => {
    const lead = await findLead(store, id, company);
    const { companyId } = lead;
    const outcomes = await store.connections.findLead(companyId, id, { level: 'COMPANY', companyId });
    const out = listOutcomes(outcomes ?? []);
    if (json) return writeJson(context.stdout, { ...toJsonLead(lead), out });
    return write(context.stdout, describeLead(lead, out));
  });

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

/** One line for each field, then the connections. Further lines of a text stand below its beginning. */
function describeLead(stored: StoredLead, out: LeadConnections['out']): string {
  const wire = toWire(stored.lead);
  const fields = LEAD_FIELDS.filter(({ name }) => !HIDDEN.includes(name)).map(
    ({ name, label }) => [label, FORMATS[name]?.(wire, stored) ?? formatValue(wire[name])] as const,
  );
  const entries = [...fields, ['Connections', out.map(describeOutcome).join('\n') || '-'] as const];
  const indent = Math.max(...entries.map(([label]) => label.length)) + 2;
  const lines = entries.flatMap(([label, text]) =>
    text
      .split(/\r?\n/)
      .map((line, index) => `${(index === 0 ? label : '').padEnd(indent)}${printable(line)}`.trimEnd()),
  );
  return `${lines.join('\n')}\n`;
}

function describeOutcome({ name, state, at, why }: LeadConnections['out'][number]): string {
  const time = at === null ? '' : `${state === 'waiting' ? ' since' : ''} ${at}`;
  return `${name}: ${state}${time}${why === null ? '' : `, ${why}`}`;
}
