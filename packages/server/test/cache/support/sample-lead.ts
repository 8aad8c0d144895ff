import type { LeadRecord } from 'leadtap';

/** A lead that is known by its time and its name. */
export const sampleLead = (createdAt: number, rest: Partial<LeadRecord> = {}): LeadRecord => ({
  id: `lead-${createdAt}`,
  firstName: null,
  lastName: null,
  fullName: null,
  phone1: null,
  phone2: null,
  email: null,
  address: null,
  postalCode: null,
  addressNotes: null,
  appointmentDateTime: null,
  timeslot: null,
  customFields: {},
  images: [],
  sameDay: false,
  status: { value: 'NEW', label: 'New', color: '#000000', final: false },
  companyName: 'Acme',
  branchName: null,
  departmentName: null,
  createdAt,
  updatedAt: createdAt,
  automationTriggerId: `trigger-${createdAt}`,
  automationCreatedAt: createdAt,
  ...rest,
});
