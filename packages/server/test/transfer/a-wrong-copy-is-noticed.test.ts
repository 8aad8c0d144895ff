import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ChecksumBuilder,
  canonical,
  findDifferences,
  LEADS,
  TABLES,
} from '../../src/store/transfer/tables.ts';
import { moveUp, run } from './commands.ts';
import { makeFilledEnds } from './filled.ts';

/** Something in the target that changes the lead 2 of Globex on its way in. */
const spoiler = (change: string) => `
  CREATE FUNCTION leadtap.spoil() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.company_id = 'globex' AND NEW.id = 'lead-2' THEN ${change} END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER zz_spoil BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION leadtap.spoil()`;

describe('a copy that differs from its source', () => {
  it.each([
    `NEW.phone1 := '+33 1 70 18 99 01';`,
    'NEW.first_name := NULL;',
    `NEW.custom_fields := NEW.custom_fields || '{"score": 2.5}';`,
    `NEW.updated_at := NEW.updated_at + interval '1 millisecond';`,
    `NEW.created_at := NEW.created_at - interval '1 day';`,
  ])('is told with the company, and nobody can poll it: %s', async (change) => {
    const ends = await makeFilledEnds();
    await run(ends, ['migrate'], { env: { LEADTAP_DATABASE_URL: ends.to } });
    await ends.sql(spoiler(change));
    const { code, stdout, stderr } = await moveUp(ends);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^leadtap: the copy differs from its source, in which no lead, user or token was changed$/m,
    );
    expect(stderr).toMatch(
      /^ {2}leads of company "globex": 3 \(sha256 \w{64}\) in the source, 3 \(sha256 \w{64}\) in the target$/m,
    );
    expect(stderr).not.toContain('acme');
    expect(await ends.sql('SELECT FROM leadtap.users')).toEqual([]);
  });

  it('is told when rows are missing', async () => {
    const ends = await makeFilledEnds();
    await moveUp(ends);
    await ends.sql(`DELETE FROM leadtap.leads WHERE company_id = 'acme' AND id = 'lead-1'`);
    const { code, stderr } = await moveUp(ends);
    expect(code).toBe(1);
    expect(stderr).toMatch(/leads of company "acme": 3 \(.*\) in the source, 2 \(.*\) in the target/);
  });

  it('is told when the target does not take a row', async () => {
    const ends = await makeFilledEnds();
    await run(ends, ['migrate'], { env: { LEADTAP_DATABASE_URL: ends.to } });
    await ends.sql(`ALTER TABLE leadtap.leads ADD CONSTRAINT no_second CHECK (id <> 'lead-2')`);
    const { code, stderr } = await moveUp(ends);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^leadtap: PostgreSQL refuses rows of leads: .*check constraint.*lead-2/m);
    await ends.sql('ALTER TABLE leadtap.leads DROP CONSTRAINT no_second');
    expect((await moveUp(ends)).code).toBe(0);
  });
});

/** Another program, which adds a lead with an id of the source when the copying has begun. */
const INTRUDER = `
  CREATE FUNCTION leadtap.intrude() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM set_config('leadtap.historical', 'on', true);
    INSERT INTO leadtap.leads (company_id, id, first_name, created_at) VALUES ('acme', 'lead-2', 'Eve', '2001-01-01');
    RETURN NULL;
  END $$;
  CREATE TRIGGER intrude AFTER INSERT ON leadtap.statuses EXECUTE FUNCTION leadtap.intrude()`;

it('a lead that another program adds meanwhile stops the move, and is not overwritten', async () => {
  const ends = await makeFilledEnds();
  await run(ends, ['migrate'], { env: { LEADTAP_DATABASE_URL: ends.to } });
  await ends.sql(INTRUDER);
  const { code, stderr } = await moveUp(ends);
  expect(code).toBe(1);
  expect(stderr).toContain('leadtap: the target got a lead with the same id meanwhile, from another program');
  expect(await ends.sql('SELECT id, first_name FROM leadtap.leads')).toEqual([
    { id: 'lead-2', first_name: 'Eve' },
  ]);
});

describe('the checksum', () => {
  const json = fc.dictionary(fc.string(), fc.jsonValue());

  const upsideDown = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(upsideDown);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).reverse();
    return Object.fromEntries(entries.map(([key, inner]) => [key, upsideDown(inner)]));
  };

  it('does not see in which order an object has its keys', () => {
    fc.assert(
      fc.property(json, (custom_fields) => {
        const turned = { custom_fields: upsideDown(custom_fields) };
        expect(canonical(LEADS, turned)).toBe(canonical(LEADS, { custom_fields }));
      }),
    );
  });

  const rows = TABLES.flatMap((table) => table.columns.map(({ name }) => ({ table, name })));

  it.each(rows)('sees a change of $table.name, $name', ({ table, name }) => {
    const checksums = (row: Record<string, unknown>) => {
      const builder = new ChecksumBuilder(table);
      builder.add({ company_id: 'acme', ...row });
      return builder.finish();
    };
    expect(findDifferences(table, checksums({}), checksums({}))).toEqual([]);
    expect(findDifferences(table, checksums({ [name]: 'a' }), checksums({ [name]: 'b' }))).not.toEqual([]);
    expect(findDifferences(table, checksums({ [name]: 'a' }), checksums({ [name]: null }))).not.toEqual([]);
  });
});
