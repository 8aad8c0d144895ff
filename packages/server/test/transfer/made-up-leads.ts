/** Random leads that use every field and every kind of value. */
import { LEAD_FIELDS, type LeadField, type LeadFieldType } from '@leadtap/contract';
import fc from 'fast-check';
import type { LeadFields, LeadInput } from 'leadtap';
import { DEFAULT_LEAD_FIELDS } from '../../src/leads/row.ts';

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .map((made) => made.replaceAll('\0', ''));
const orNull = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null });

const value = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(text, tie('json'), { maxKeys: 3 }),
  ),
})).json;

const time = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map(Number);

/** For each type of the fields that a writer sets. */
const VALUES: Partial<Record<LeadFieldType, fc.Arbitrary<unknown>>> = {
  text: fc.oneof(
    text,
    fc.string({ unit: 'binary-ascii' }).map((made) => made.replaceAll('\0', '\n')),
  ),
  email: fc.emailAddress(),
  instant: time,
  timeOfDay: fc.constantFrom('00:00', '09:30', '23:59'),
  object: fc.dictionary(text, value, { maxKeys: 6 }),
  urls: fc.array(fc.webUrl(), { maxLength: 3 }),
  boolean: fc.boolean(),
};

function valuesFor({ name, type, default: byDefault }: LeadField): fc.Arbitrary<unknown> {
  const some = VALUES[type];
  if (!some) throw new Error(`add values for the type ${type} of ${name}`);
  return byDefault === null ? orNull(some) : some;
}

const fields = fc.record(
  Object.fromEntries(
    LEAD_FIELDS.filter(({ name }) => name in DEFAULT_LEAD_FIELDS).map((field) => [
      field.name,
      valuesFor(field),
    ]),
  ),
) as fc.Arbitrary<LeadFields>;

const places = fc.constantFrom(
  {},
  { branchId: 'north' },
  { branchId: 'north', departmentId: 'sales' },
  { departmentId: 'sales' },
);

/** Of both companies, which use the same ids of branches and departments. */
export const leads: fc.Arbitrary<LeadInput[]> = fc
  .array(
    fc.record({ companyId: fc.constantFrom('acme', 'globex'), place: places, status: status(), fields }),
    {
      minLength: 20,
      maxLength: 60,
    },
  )
  .map((made) =>
    made.map(({ companyId, place, status, fields }, index) => ({
      companyId,
      // Some ids repeat, so that leads are updated.
      id: `lead-${index % 7 === 6 ? index - 3 : index}`,
      ...place,
      statusValue: status,
      fields,
    })),
  );

function status(): fc.Arbitrary<string> {
  return fc.constantFrom('NEW', 'CONTACTED', 'WON');
}
