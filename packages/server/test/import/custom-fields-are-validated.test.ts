import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ndjson } from './support/read-lines.ts';

/** The rules of docs/importing-leads.md, one by one. */
const levels = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levels)) : 0;

function values(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...values(inner)]);
}

const isStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return !value.includes('\0') && Buffer.from(value).toString() === value;
  if (typeof value !== 'number') return true;
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
};

const isValid = (fields: object): boolean =>
  levels(fields) <= 100 &&
  values(fields).every(isStorable) &&
  Buffer.byteLength(JSON.stringify(fields)) <= 65_536;

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', '\0', '\ud800', '\udc00', '"', '\u0001') }),
);
const long = fc.integer({ min: 1000, max: 70_000 }).map((length) => 'x'.repeat(length));
const deep = fc
  .integer({ min: 95, max: 105 })
  .map((count) => JSON.parse(`${'[1,'.repeat(count)}0${']'.repeat(count)}`) as unknown);
const scalar = fc.oneof(
  text,
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(2 ** 53, -(2 ** 60), null, true),
);
const fields = fc.dictionary(
  text,
  fc.oneof({ weight: 8, arbitrary: scalar }, fc.array(scalar), fc.dictionary(text, scalar), long, deep),
);

test('custom fields are accepted exactly if they keep all rules', async () => {
  await fc.assert(
    fc.asyncProperty(fields, async (customFields) => {
      const written = JSON.stringify({ companyId: 'acme', customFields });
      const [line] = await ndjson(written);
      expect(line?.parsed.lead !== undefined).toBe(isValid(JSON.parse(written).customFields));
    }),
    { numRuns: 1000 },
  );
});
