import type { LeadFields } from './records.ts';

/** What a new lead has where nothing is said. */
export const NO_FIELDS: LeadFields = {
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
