import { IMPORT_FIELDS, LEAD_FIELDS } from '@leadtap/contract';
import { describe, expect, test } from 'vitest';
import { objectFromTexts, parseLead } from '../../src/leads/parse-lead.ts';

const OPTIONS = { historical: false, clock: () => 0 };

describe('parseLead', () => {
  test('returns a lead', () => {
    expect(parseLead({ companyId: 'acme', id: '1', firstName: 'Ada' }, OPTIONS)).toEqual({
      lead: { companyId: 'acme', id: '1', fields: { firstName: 'Ada' } },
    });
  });

  test('returns every issue with its field, and the valid fields', () => {
    expect(parseLead({ companyId: 'acme', id: '1', phone1: true, nonsense: true }, OPTIONS)).toEqual({
      issues: [
        { field: 'phone1', detail: 'must be a string, not a boolean' },
        { field: 'nonsense', detail: 'is not a field of a lead; put it under customFields' },
      ],
      partialLead: { companyId: 'acme', id: '1', fields: {} },
    });
  });

  test.each(IMPORT_FIELDS.filter((field) => field.import.historicalOnly !== true))(
    'reads $name, a field of the table, by its type',
    ({ name }) => {
      const sample = LEAD_FIELDS.find((field) => field.name === name)?.sample ?? 'x';
      expect(parseLead({ companyId: 'x', [name]: sample }, OPTIONS).issues).toBeUndefined();
      expect(parseLead({ companyId: 'x', [name]: Symbol.iterator }, OPTIONS).issues).toMatchObject([
        { field: name },
      ]);
    },
  );
});

test('objectFromTexts converts the fields of a form', () => {
  const form = new URLSearchParams(
    'companyId=acme&email=&sameDay=yes&images=https://a.example/1|https://a.example/2&customFields.source=web',
  );
  expect({ ...objectFromTexts([...form.keys()], [...form.values()]) }).toEqual({
    companyId: 'acme',
    email: null,
    sameDay: true,
    images: ['https://a.example/1', 'https://a.example/2'],
    'customFields.source': 'web',
  });
});

test('objectFromTexts keeps a field that is called __proto__', () => {
  const object = objectFromTexts(['companyId', '__proto__'], ['acme', 'x']);
  expect(parseLead(object, OPTIONS).issues).toMatchObject([{ field: '__proto__' }]);
});
