import type { LeadRecord } from 'leadtap';
import { DEFAULT_LEAD_FIELDS } from '../../../src/leads/row.ts';

/** A lead that is known by its time and its name. */
export const sampleLead = (createdAt: number, rest: Partial<LeadRecord> = {}): LeadRecord => ({
  id: `lead-${createdAt}`,
  ...DEFAULT_LEAD_FIELDS,
  status: { value: 'NEW', label: 'New', color: '#000000', final: false },
  companyName: 'Acme',
  branchName: null,
  departmentName: null,
  createdAt,
  updatedAt: createdAt,
  automation_trigger_id: `trigger-${createdAt}`,
  automation_created_at: createdAt,
  ...rest,
});
