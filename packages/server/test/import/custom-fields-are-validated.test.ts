import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csv, issuesOf, leadOf, ndjson } from './support/read-lines.ts';

/** The rules of docs/getting-leads-in.md, one by one. */
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

const isVisible = (name: string): boolean => /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/u.test(name);

const zeros = (fields: object): number =>
  values(fields).reduce<number>((sum, value) => {
    const [, exponent = 0] = typeof value === 'number' ? (/e-(\d+)/.exec(String(value)) ?? []) : [];
    return sum + Number(exponent);
  }, 0);

const isValid = (fields: object): boolean =>
  levels(fields) <= 100 &&
  Object.keys(fields).every(isVisible) &&
  values(fields).every(isStorable) &&
  Buffer.byteLength(JSON.stringify(fields)) + zeros(fields) <= 65_536;

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', ' ', '\u200b', '\u2800', '\0', '\ud800', '\udc00', '"', '\u0001') }),
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
    { numRuns: 200 },
  );
});

test('empty cells of custom fields do not count toward the 64 KiB', async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(90)}`);
  const header = names.map((name) => `customFields.${name}`).join();
  const [row] = await csv(`companyId,${header}\nacme,here${','.repeat(names.length - 1)}\n`);
  expect(leadOf(row).fields).toEqual({ customFields: { [names[0] ?? '']: 'here' } });
});

test('a column for a custom field without a visible name is refused, in any spelling', async () => {
  for (const column of ['customFields.', 'customFields. ', 'customFields.\u200b'])
    await expect(csv(`companyId,${column}\nacme,x\n`)).rejects.toMatchObject({
      fix: [expect.stringContaining('give each custom field a column of its own')],
    });
  const [line] = await ndjson('{"companyId":"acme","customFields":{" ":"x"}}');
  expect(line && issuesOf(line)).toEqual([
    'customFields: give each custom field a name, such as customFields.source',
  ]);
});

test('the zeros of tiny numbers, which PostgreSQL writes, count toward the 64 KiB', async () => {
  const read = async (count: number) => {
    const [line] = await ndjson(
      JSON.stringify({ companyId: 'acme', customFields: { n: Array(count).fill(1e-300) } }),
    );
    return line && issuesOf(line);
  };
  expect(await read(200)).toEqual([]);
  expect(await read(300)).toEqual([expect.stringMatching(/^customFields: takes 9\d,\d{3} bytes as JSON/)]);
});
