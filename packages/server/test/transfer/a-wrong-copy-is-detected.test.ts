import { describe, expect, it } from 'vitest';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

/** A trigger in the target that changes the lead 2 of Globex when it is inserted. */
const changeOnInsert = (change: string) => `
  CREATE FUNCTION leadtap.test_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.company_id = 'globex' AND NEW.id = 'lead-2' THEN ${change} END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER zz_change_lead BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.test_change()`;

describe('a copy that differs from its source', () => {
  it.each([
    `NEW.phone1 := '+33 1 70 18 99 01';`,
    'NEW.first_name := NULL;',
    `NEW.custom_fields := NEW.custom_fields || '{"score": 2.5}';`,
    `NEW.updated_at := NEW.updated_at + interval '1 millisecond';`,
    `NEW.created_at := NEW.created_at - interval '1 day';`,
  ])('is reported with its table, and cannot be polled: %s', async (change) => {
    const endpoints = await makeFilledEndpoints();
    await endpoints.sql(changeOnInsert(change));
    const { code, stdout, stderr } = await runMove(endpoints);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^leadtap: the copy differs from its source, in which no lead, user or token was changed$/m,
    );
    expect(stderr).toContain(
      '  leads: 6 rows in the source, 6 in the target, with other values or other rows\n',
    );
    expect(await endpoints.sql('SELECT FROM leadtap.users')).toEqual([]);
  });

  it('is reported when rows are missing', async () => {
    const endpoints = await makeFilledEndpoints();
    await runMove(endpoints);
    await endpoints.sql(`DELETE FROM leadtap.leads WHERE company_id = 'acme' AND id = 'lead-1'`);
    const { code, stderr } = await runMove(endpoints);
    expect(code).toBe(1);
    expect(stderr).toContain('leads: 6 rows in the source, 5 in the target');
  });

  it('is reported when the target rejects a row', async () => {
    const endpoints = await makeFilledEndpoints();
    await endpoints.sql(`ALTER TABLE leadtap.leads ADD CONSTRAINT no_second CHECK (id <> 'lead-2')`);
    const { code, stderr } = await runMove(endpoints);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^leadtap: PostgreSQL refuses rows of leads: .*check constraint.*lead-2/m);
    await endpoints.sql('ALTER TABLE leadtap.leads DROP CONSTRAINT no_second');
    expect((await runMove(endpoints)).code).toBe(0);
  });
});

/** A trigger that adds a lead with an id of the source while the move is copying, like another program. */
const CONCURRENT_INSERT = `
  CREATE FUNCTION leadtap.test_insert() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM set_config('leadtap.historical', 'on', true);
    INSERT INTO leadtap.leads (company_id, id, first_name, created_at) VALUES ('acme', 'lead-2', 'Eve', '2001-01-01');
    RETURN NULL;
  END $$;
  CREATE TRIGGER insert_lead AFTER INSERT ON leadtap.statuses EXECUTE FUNCTION leadtap.test_insert()`;

it('a lead that another program adds during the move stops it, and is not overwritten', async () => {
  const endpoints = await makeFilledEndpoints();
  await endpoints.sql(CONCURRENT_INSERT);
  const { code, stderr } = await runMove(endpoints);
  expect(code).toBe(1);
  expect(stderr).toContain('leadtap: the target got a lead with the same id meanwhile, from another program');
  expect(await endpoints.sql('SELECT id, first_name FROM leadtap.leads')).toEqual([
    { id: 'lead-2', first_name: 'Eve' },
  ]);
});
