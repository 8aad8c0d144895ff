import type { Lead } from '@leadtap/contract';
import type { IDataObject } from 'n8n-workflow';

/** A lead as the service sent it, with fields that later versions may add. */
export type ReceivedLead = IDataObject & Pick<Lead, 'createdAt'>;

/** What most workflows need, under the names that the whole lead has, so that expressions survive the switch. */
const SIMPLIFIED = [
  'id',
  'firstName',
  'lastName',
  'fullName',
  'email',
  'phone1',
  'address',
  'postalCode',
  'appointmentDateTime',
  'statusValue',
  'customFields',
  'createdAt',
  'automation_trigger_id',
] as const satisfies readonly (keyof Lead)[];

export const simplify = (lead: IDataObject): IDataObject =>
  Object.fromEntries(SIMPLIFIED.map((field) => [field, lead[field]]));

/** Shown in the editor while the account has no lead yet, so that a workflow can be built before the first one. */
export const SAMPLE_LEAD = {
  id: 'sample-lead',
  firstName: 'Ada',
  lastName: 'Moreau',
  fullName: 'Ada Moreau (sample)',
  phone1: '+33 1 70 18 99 00',
  phone2: null,
  email: 'ada.moreau@example.com',
  address: '12 Rue des Lilas, Lyon',
  postalCode: '69003',
  addressNotes: 'Second courtyard, blue door',
  appointmentDateTime: '2026-03-05T14:00:00.000Z',
  timeslot: '14:00',
  statusValue: 'NEW',
  status: { value: 'NEW', label: 'New', color: '#2563eb', final: false },
  customFields: { source: 'website' },
  images: ['https://images.example.com/roof.jpg'],
  sameDay: false,
  createdAt: '2026-03-02T09:30:00.001Z',
  updatedAt: '2026-03-02T09:30:00.001Z',
  companyName: 'Soleil Roofing',
  branchName: 'Lyon',
  departmentName: 'Repairs',
  automation_trigger_id: '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4',
  automation_created_at: '2026-03-02T09:30:00.001Z',
} satisfies Lead;
