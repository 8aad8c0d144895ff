import { v7 } from 'uuid';
import type { LeadInput } from '../records.ts';
import type { WriteOptions, WriteOutcome } from '../store.ts';
import { lockCompanies } from './company-locks.ts';
import type { Session } from './connection.ts';
import { companiesOf } from './known-places.ts';
import { type IdentifiedLead, writeBatch } from './lead-batch.ts';

/** Without sequential scans: for each lead, its foreign keys would read small tables from end to end. */
const BEGIN_BATCH = `SELECT set_config('enable_seqscan', 'off', true), set_config('leadtap.historical', $1, true)`;

/** Writes a batch of leads in the transaction of the session. */
export async function writeLeads(
  session: Session,
  leads: readonly LeadInput[],
  { historical = false }: WriteOptions,
): Promise<WriteOutcome> {
  if (leads.length === 0) return { kind: 'written', results: [] };
  await session.query(BEGIN_BATCH, [historical ? 'on' : '']);
  await lockCompanies(session, companiesOf(leads));
  return { kind: 'written', results: await writeBatch(session, identified(leads), historical) };
}

/** Whatever clock: an identifier only has to sort well. */
function identified(leads: readonly LeadInput[]): IdentifiedLead[] {
  const madeAt = Date.now();
  return leads.map((lead) => (hasId(lead) ? lead : { ...lead, id: v7({ msecs: madeAt }) }));
}

const hasId = (lead: LeadInput): lead is IdentifiedLead => lead.id !== undefined;
