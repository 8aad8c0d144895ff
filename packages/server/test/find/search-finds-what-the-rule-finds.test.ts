import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { createLeadMatcher } from '../../src/leads/search.ts';

const shared = shareService();

/** Few characters, so that texts are often found: accents as one character and as two, other scripts, and signs of SQL patterns. */
const letter = fc.constantFrom(
  ...'aAbBéÉeE\u0301ßİıΣσДд1234567890 +-()%_\\\'"*[]😀'.split(/(?:)/u),
  '\u212a',
);
const text = fc.string({ unit: letter, maxLength: 12 }).filter((value) => value.trim() === value);
const lead = fc.record({
  fullName: text,
  firstName: text,
  lastName: text,
  email: text,
  phone1: text,
  phone2: text,
});
const nullable = fc.record({
  values: lead,
  nulls: fc.subarray(['fullName', 'firstName', 'lastName', 'email', 'phone1']),
});

it('the database finds the leads that the rule finds', async () => {
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  await fc.assert(
    fc.asyncProperty(
      fc.array(nullable, { minLength: 1, maxLength: 20 }),
      fc.array(text, { minLength: 5 }),
      async (people, texts) => {
        const leads = people.map(({ values, nulls }, index) => ({
          companyId: 'acme',
          id: `${index}`,
          fields: { ...values, ...Object.fromEntries(nulls.map((name) => [name, null])) },
        }));
        const { store } = shared();
        await store.writeLeads(leads);
        const all = await store.searchLeads({ scope, limit: 100 });
        const parts = leads.map(({ fields }) => [...(fields.fullName ?? '')].slice(1, 4).join(''));
        for (const search of [...texts, ...parts].map((value) => value.trim())) {
          const { matches } = createLeadMatcher(search);
          const expected = all.leads.filter(
            ({ lead: { id, fullName, firstName, lastName, email, phone1, phone2 } }) => {
              const given = (...values: (string | null)[]) => values.filter((value) => value !== null);
              const names = given(firstName, lastName).join(' ');
              const phones = given(phone1, phone2);
              return matches({
                text: [id, ...given(fullName), names, ...given(email), ...phones].join('\n'),
                phones: phones.join('\n'),
              });
            },
          );
          const found = await store.searchLeads({ scope, text: search, limit: 100 });
          expect(
            found.leads.map((stored) => stored.lead.id),
            JSON.stringify(search),
          ).toEqual(expected.map((stored) => stored.lead.id));
        }
      },
    ),
    { numRuns: 30 },
  );
});
