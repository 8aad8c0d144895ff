import { type Static, Type } from 'typebox';

const instant = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-02T09:30:00.000Z'] });

const orNull = (description: string, example: string) =>
  Type.Union([Type.String(), Type.Null()], { description, examples: [example] });

export const LeadStatus = Type.Object(
  {
    value: Type.String({ description: 'The status code, as in `statusValue`.' }),
    label: Type.String({ description: 'What people call it.' }),
    color: Type.String({ description: 'A CSS hex colour.' }),
    final: Type.Boolean({ description: 'Whether a lead in this status is done with.' }),
  },
  { additionalProperties: false, description: "The status, from the company's own catalogue of statuses." },
);

/** The lead on the wire: 24 fields, all always present, in this order. */
export const Lead = Type.Object(
  {
    id: Type.String({ description: 'Lead identifier, unique within the company.', examples: ['lead-1042'] }),
    firstName: orNull('First name of the contact.', 'Ada'),
    lastName: orNull('Last name of the contact.', 'Moreau'),
    fullName: Type.String({ description: 'Full name of the contact.', examples: ['Ada Moreau'] }),
    phone1: orNull('Phone number, free-form text.', '+33 1 70 18 99 00'),
    phone2: orNull('Second phone number, free-form text.', '+33 6 39 98 12 34'),
    email: orNull('E-mail address.', 'ada.moreau@example.com'),
    address: orNull('Single-line address.', '12 Rue des Lilas, Lyon'),
    postalCode: orNull('Postal code.', '69003'),
    addressNotes: orNull('Free-text notes on the address.', 'Second courtyard, blue door'),
    appointmentDateTime: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the appointment is, UTC with milliseconds.',
      examples: ['2026-03-05T14:00:00.000Z'],
    }),
    timeslot: Type.Union([Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }), Type.Null()], {
      description: 'Time of day as `HH:MM`.',
      examples: ['14:00'],
    }),
    statusValue: Type.String({ description: 'Status code, an upper-case word.', examples: ['NEW'] }),
    status: LeadStatus,
    customFields: Type.Record(Type.String(), Type.Unknown(), {
      description: "The operator's own fields, by name.",
      examples: [{ source: 'website' }],
    }),
    images: Type.Array(Type.String({ format: 'uri' }), {
      description: 'Image addresses.',
      examples: [['https://images.example.com/roof.jpg']],
    }),
    sameDay: Type.Boolean({ description: 'Whether the contact asked for the same day.' }),
    createdAt: instant(
      'When the lead entered the feed. Unique within the company, rises in commit order, never changes: the value to remember and send as `since`.',
    ),
    updatedAt: instant('When the lead last changed.'),
    companyName: Type.String({ description: 'Name of the company.', examples: ['Soleil Roofing'] }),
    branchName: orNull('Name of the branch.', 'Lyon'),
    departmentName: orNull('Name of the department.', 'Repairs'),
    automation_trigger_id: Type.String({
      maxLength: 64,
      description: 'Unique identifier of this trigger. Never changes: drop what you have seen before.',
      examples: ['019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4'],
    }),
    automation_created_at: instant(
      'When Leadtap took the lead in. Equals `createdAt`, except for leads imported as history.',
    ),
  },
  { additionalProperties: false, description: 'A new lead.' },
);

export type Lead = Static<typeof Lead>;
export type LeadStatus = Static<typeof LeadStatus>;

/** A complete lead, for documentation, samples and tests. */
export const exampleLead: Lead = {
  id: 'lead-1042',
  firstName: 'Ada',
  lastName: 'Moreau',
  fullName: 'Ada Moreau',
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
  customFields: { source: 'website', roofArea: 120 },
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
