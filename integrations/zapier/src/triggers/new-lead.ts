import type { Lead } from '@leadtap/contract';
import { type Bundle, defineTrigger, type ZObject } from 'zapier-platform-core';
import { readPage } from '../read-page.ts';
import { recentLeads } from '../recent-leads.ts';
import { customFields } from './custom-fields.ts';
import { LEAD_FIELDS, SAMPLE_LEAD } from './lead-fields.ts';

/** The editor shows no more. */
const SAMPLES = 3;

export async function sampleLeads(z: ZObject, bundle: Bundle): Promise<Lead[]> {
  const { leads } = await readPage(z, bundle, { limit: SAMPLES });
  return [...leads];
}

export const perform = (z: ZObject, bundle: Bundle): Promise<Lead[]> =>
  (bundle.meta?.isLoadingSample ? sampleLeads : recentLeads)(z, bundle);

/**
 * Zapier tells leads apart by the output field that is `primary`: the trigger id. Its default would be `id`, the id in the
 * lead-management system, which two companies may use for different leads, and which can recur after a lead was deleted.
 */
export const newLead = defineTrigger({
  key: 'new_lead',
  noun: 'Lead',
  display: { label: 'New Lead', description: 'Triggers when a new lead arrives.' },
  operation: {
    type: 'polling',
    perform,
    outputFields: [...LEAD_FIELDS, customFields],
    sample: SAMPLE_LEAD,
  },
});
