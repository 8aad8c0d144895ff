import type { Lead } from '@leadtap/contract';
import type { PlainOutputField } from 'zapier-platform-core';

/**
 * The fields of a lead that all leads have, in the order in which people look for them. `__` leads into an object.
 *
 * Zapier distinguishes leads by the field that is `primary`. By itself it would take `id`, the lead's id in the
 * lead-management system, which two companies may use for different leads, and which is used again when a lead is deleted
 * and made anew. The trigger id is never used twice; so it decides, and `id` stays what it is.
 */
export const LEAD_FIELDS: PlainOutputField[] = [
  { key: 'fullName', label: 'Full Name' },
  { key: 'firstName', label: 'First Name' },
  { key: 'lastName', label: 'Last Name' },
  { key: 'email', label: 'Email' },
  { key: 'phone1', label: 'Phone' },
  { key: 'phone2', label: 'Second Phone' },
  { key: 'address', label: 'Address' },
  { key: 'postalCode', label: 'Postal Code' },
  { key: 'addressNotes', label: 'Address Notes' },
  { key: 'appointmentDateTime', label: 'Appointment', type: 'datetime' },
  { key: 'timeslot', label: 'Time Slot' },
  { key: 'sameDay', label: 'Same Day', type: 'boolean' },
  { key: 'statusValue', label: 'Status Code' },
  { key: 'status__label', label: 'Status' },
  { key: 'status__value', label: 'Status Code in Detail' },
  { key: 'status__color', label: 'Status Color' },
  { key: 'status__final', label: 'Status Is Final', type: 'boolean' },
  { key: 'images', label: 'Images', list: true },
  { key: 'companyName', label: 'Company' },
  { key: 'branchName', label: 'Branch' },
  { key: 'departmentName', label: 'Department' },
  { key: 'createdAt', label: 'Created At', type: 'datetime' },
  { key: 'updatedAt', label: 'Updated At', type: 'datetime' },
  { key: 'id', label: 'Lead ID' },
  { key: 'automation_trigger_id', label: 'Trigger ID', primary: true },
  { key: 'automation_created_at', label: 'Taken In At', type: 'datetime' },
];

/** What the editor shows while there are no leads yet. */
export const SAMPLE_LEAD: Lead = {
  id: 'lead-1042',
  firstName: 'Ada',
  lastName: 'Moreau',
  fullName: 'Ada Moreau',
  phone1: '+33 1 70 18 99 00',
  phone2: '+33 6 39 98 12 34',
  email: 'ada.moreau@example.com',
  address: '12 Rue des Lilas, Lyon',
  postalCode: '69003',
  addressNotes: 'Second courtyard, blue door',
  appointmentDateTime: '2026-03-05T14:00:00.000Z',
  timeslot: '14:00',
  statusValue: 'NEW',
  status: { value: 'NEW', label: 'New', color: '#2563eb', final: false },
  customFields: {},
  images: ['https://images.example.com/roof.jpg'],
  sameDay: false,
  createdAt: '2026-03-02T09:30:00.001Z',
  updatedAt: '2026-03-02T09:30:00.001Z',
  companyName: 'Soleil Roofing',
  branchName: 'Lyon',
  departmentName: 'Repairs',
  automation_trigger_id: '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4',
  automation_created_at: '2026-03-02T09:30:00.001Z',
};
