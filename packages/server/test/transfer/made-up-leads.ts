/** Random leads that use every field and every kind of value. */
import fc from 'fast-check';
import type { LeadFields, LeadInput } from 'leadtap';

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

const fields: fc.Arbitrary<LeadFields> = fc.record({
  firstName: orNull(text),
  lastName: orNull(text),
  fullName: orNull(text),
  phone1: orNull(text),
  phone2: orNull(text),
  email: orNull(fc.emailAddress()),
  address: orNull(text),
  postalCode: orNull(text),
  addressNotes: orNull(fc.string({ unit: 'binary-ascii' }).map((made) => made.replaceAll('\0', '\n'))),
  appointmentDateTime: orNull(time),
  timeslot: orNull(fc.constantFrom('00:00', '09:30', '23:59')),
  customFields: fc.dictionary(text, value, { maxKeys: 6 }),
  images: fc.array(fc.webUrl(), { maxLength: 3 }),
  sameDay: fc.boolean(),
});

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
    { minLength: 20, maxLength: 60 },
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
