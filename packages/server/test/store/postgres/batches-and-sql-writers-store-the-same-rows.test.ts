import fc from 'fast-check';
import type { LeadInput, Store } from 'leadtap';
import type { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

const NOON = Date.UTC(2026, 2, 2, 12);
const LONG_AGO = Date.UTC(2020, 0, 1);

const text = fc.option(
  fc.string({ unit: fc.constantFrom(...'aé😀"\\{}(),\'\n\t ', 'NULL', '$1'), maxLength: 8 }),
);

/** Well-formed leads; some of them twice, some in the past, some at the same time. */
const leads = fc.array(
  fc.record(
    {
      companyId: fc.constantFrom('acme', 'globex'),
      id: fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '8'),
      departmentId: fc.constantFrom(null, 'sales'),
      statusValue: fc.constantFrom('NEW', 'WON'),
      createdAt: fc.integer({ min: LONG_AGO, max: LONG_AGO + 4 }),
      fields: fc.record(
        {
          firstName: text,
          addressNotes: text,
          appointmentDateTime: fc.option(fc.integer({ min: -NOON, max: NOON })),
          timeslot: fc.option(fc.constantFrom('00:00', '23:59')),
          customFields: fc.dictionary(text.map(String), fc.oneof(text, fc.integer(), fc.boolean())),
          images: fc.array(fc.webUrl(), { maxLength: 3 }),
          sameDay: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['companyId', 'id', 'createdAt', 'fields'] },
  ),
  { minLength: 1, maxLength: 12 },
);

const COLUMNS = `company_id, id, leadtap.to_ms(created_at) AS created_at, branch_id, department_id, first_name, address_notes,
  leadtap.to_ms(appointment_date_time) AS appointment_date_time, timeslot, status_value, custom_fields, images, same_day,
  leadtap.to_ms(updated_at) AS updated_at, leadtap.to_ms(automation_created_at) AS automation_created_at`;

/** With plain SQL, one row after the other. */
async function insert(client: Client, { companyId, id, fields, ...lead }: LeadInput): Promise<void> {
  await client.query(
    `INSERT INTO leadtap.leads (company_id, id, created_at, department_id, status_value, first_name, address_notes,
       appointment_date_time, timeslot, custom_fields, images, same_day)
     VALUES ($1, $2, leadtap.from_ms($3), $4, $5, $6, $7, leadtap.from_ms($8), $9, $10, $11, $12)`,
    [
      ...[companyId, id, lead.createdAt, lead.departmentId, lead.statusValue],
      ...[fields.firstName, fields.addressNotes, fields.appointmentDateTime, fields.timeslot],
      ...[fields.customFields && JSON.stringify(fields.customFields), fields.images, fields.sameDay],
    ],
  );
}

async function takeAll(client: Client): Promise<unknown[]> {
  const { rows } = await client.query(`SELECT ${COLUMNS} FROM leadtap.leads ORDER BY company_id, created_at`);
  await client.query('TRUNCATE leadtap.leads');
  await client.query('UPDATE leadtap.companies SET stamp_floor = NULL');
  return rows;
}

async function begin(): Promise<{ client: Client; store: Store }> {
  const database = await databaseWithCompanies();
  await database.stopClock(NOON);
  const store = await database.openStore();
  onTestFinished(() => store.close());
  return { client: await connectSql(database.url), store };
}

describe.each([false, true])('historical: %s', (historical) => {
  test('leads are stored as the same rows, in one batch or one by one', async () => {
    const { client, store } = await begin();
    await fc.assert(
      fc.asyncProperty(leads, async (batch) => {
        // Null keeps the value in SQL, and clears it in a batch: not compared here.
        const first = batch.filter(
          ({ companyId, id }, index) =>
            batch.findIndex((other) => other.companyId === companyId && other.id === id) === index,
        );
        await store.writeLeads(first, { historical });
        const atOnce = await takeAll(client);
        await client.query(`SET leadtap.historical = '${historical ? 'on' : ''}'`);
        for (const lead of first) await insert(client, lead);
        expect(atOnce).toEqual(await takeAll(client));
      }),
      { numRuns: 25 },
    );
  });
});
