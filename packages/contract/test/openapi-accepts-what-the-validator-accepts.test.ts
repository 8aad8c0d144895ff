import fc from 'fast-check';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { sampleLead } from '../src/index.ts';
import { Lead, NewLead, NewLeadsQuery } from '../src/schemas.ts';
import { matches, published } from './published-document.ts';

const fieldName = fc.constantFrom(...Object.keys(sampleLead));
const anything = fc.oneof(fc.constant(null), fc.constant('14:00'), fc.string(), fc.jsonValue());

test('a lead fits the published schema exactly when it fits the schema of the code', () => {
  const verdicts = new Set<boolean>();
  fc.assert(
    fc.property(fieldName, anything, (name, value) => {
      const lead = { ...sampleLead, [name]: value };
      const verdict = Check(Lead, lead);
      verdicts.add(verdict);
      expect(matches({ $ref: '#/components/schemas/Lead' }, lead)).toBe(verdict);
    }),
    { numRuns: 500 },
  );
  expect(verdicts.size).toBe(2);
});

test('a lead without one of its fields fits neither', () => {
  for (const missing of Object.keys(sampleLead)) {
    const lead = Object.fromEntries(Object.entries(sampleLead).filter(([name]) => name !== missing));
    expect([missing, matches({ $ref: '#/components/schemas/Lead' }, lead), Check(Lead, lead)]).toEqual([
      missing,
      false,
      false,
    ]);
  }
});

test('a field that a later version adds fits the published schema, but not the schema of the code', () => {
  const lead = { ...sampleLead, status: { ...sampleLead.status, added: 1 }, added: 1 };
  expect([matches({ $ref: '#/components/schemas/Lead' }, lead), Check(Lead, lead)]).toEqual([true, false]);
});

test('an unknown field of a lead that is sent fits neither', () => {
  const lead = { id: 'a', added: 1 };
  expect([matches({ $ref: '#/components/schemas/NewLead' }, lead), Check(NewLead, lead)]).toEqual([
    false,
    false,
  ]);
});

test('the parameters are those of the query', () => {
  const names = published.paths['/automation/new-leads'].parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => name);
  expect(names).toEqual(Object.keys(NewLeadsQuery.properties));
});
