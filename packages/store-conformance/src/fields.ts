import type { LeadFields, LeadRecord } from 'leadtap';

/** Every field has a value of its own. */
export const FULL: LeadFields = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  fullName: 'Ada Lovelace',
  phone1: '1',
  phone2: '2',
  email: 'ada@example.com',
  address: 'St James Square 12',
  postalCode: 'SW1Y',
  addressNotes: 'ring twice',
  appointmentDateTime: Date.UTC(2026, 5, 1),
  timeslot: '10:00',
  customFields: { source: 'web', budget: 5 },
  images: ['https://example.com/1.jpg'],
  sameDay: true,
};

/** What a lead has of which nothing is said. */
export const CLEARED: LeadFields = {
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
};

export const FIELD_NAMES = Object.keys(FULL) as readonly (keyof LeadFields)[];

export const fieldsOf = (record: LeadRecord): Record<string, unknown> =>
  Object.fromEntries(FIELD_NAMES.map((name) => [name, record[name]]));
