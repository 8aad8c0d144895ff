import { LEAD_FIELDS, type LeadField } from '@leadtap/contract';
import type { LeadFields, LeadRecord } from 'leadtap';
import { DEFAULT_LEAD_FIELDS } from '../../server/src/leads/row.ts';

const FIELDS = LEAD_FIELDS.filter(({ name }) => name in DEFAULT_LEAD_FIELDS);

export const FIELD_NAMES = FIELDS.map(({ name }) => name) as readonly (keyof LeadFields)[];

function storedSample({ type, sample }: LeadField): unknown {
  if (type === 'instant') return Date.parse(String(sample));
  return type === 'boolean' ? true : sample;
}

/** Every field has a value that is not its default. */
export const FULL = Object.fromEntries(
  FIELDS.map((field) => [field.name, storedSample(field)]),
) as LeadFields;

const FREE_TEXTS = FIELDS.filter(({ type }) => type === 'text' || type === 'email');

/** An image is a web address, which has no spaces, and at most 2,048 characters. */
const imageOf = (text: string): string =>
  `https://example.com/${[...text.replaceAll(/\s/g, '')].slice(0, 1000).join('')}`;

/** Every field that takes any text has this one. */
export const withText = (text: string): LeadFields => ({
  ...FULL,
  ...Object.fromEntries(FREE_TEXTS.map(({ name }) => [name, text])),
  images: [imageOf(text)],
});

export const fieldsOf = (record: LeadRecord): Record<string, unknown> =>
  Object.fromEntries(FIELD_NAMES.map((name) => [name, record[name]]));
