import pg from 'pg';
import {
  byPlace,
  companyOfLead,
  companyOfUser,
  numberOfUser,
  positionOfLead,
  stampOfLead,
} from './columns.ts';
import { withIndexesRebuilt } from './rebuilt-indexes.ts';
import { firstLeadAt, type Shape, usersIn } from './shape.ts';
import { STATUSES } from './statuses.ts';

/** Two connections add chunks of so many leads by turns: the order in which they come is that of their stamps. */
const CHUNK = 50_000;

const COMPANY = `'company-' || lpad(company::text, 5, '0')`;
const USER = `'user-' || lpad(company::text, 5, '0') || '-' || lpad(number::text, 5, '0')`;
const uuid = (variant: string) =>
  `lpad(to_hex(stamp >> 16), 8, '0') || '-' || lpad(to_hex(stamp & 65535), 4, '0') || '-7${variant}-8000-' || lpad(to_hex(n), 12, '0')`;

const organisation = (shape: Shape, now: number): string => `
INSERT INTO leadtap.companies (id, name, last_writer, last_writer_server)
  SELECT 'company-' || lpad(n::text, 5, '0'), 'Company ' || n, pg_current_xact_id(), pg_postmaster_start_time() FROM generate_series(0, ${shape.companies - 1}) AS n;
INSERT INTO leadtap.branches (company_id, id, name)
  SELECT c.id, b.id, b.name FROM leadtap.companies AS c, (VALUES ('north', 'North'), ('south', 'South')) AS b (id, name);
INSERT INTO leadtap.departments (company_id, id, branch_id, name)
  SELECT c.id, d.id, d.branch_id, d.name FROM leadtap.companies AS c,
    (VALUES ('repairs', 'north', 'Repairs'), ('sales', 'south', 'Sales')) AS d (id, branch_id, name);
INSERT INTO leadtap.statuses (company_id, value, label, color, final, position)
  SELECT c.id, s.* FROM leadtap.companies AS c, (VALUES ${STATUSES}) AS s;
INSERT INTO leadtap.users (id, company_id, email, name, plan, access_level, branch_id, department_id)
  SELECT ${USER}, ${COMPANY}, ${USER} || '@example.com', 'User ' || number, 'PROFESSIONAL',
    ${byPlace(({ accessLevel }) => accessLevel)}, ${byPlace(({ branchId }) => branchId)},
    ${byPlace(({ departmentId }) => departmentId)}
  FROM generate_series(0, ${usersIn(shape) - 1}) AS n,
    LATERAL (SELECT ${companyOfUser(shape)} AS company, ${numberOfUser(shape)} AS number) AS placed;
INSERT INTO leadtap.issued_tokens (id, user_id, issued_at, expires_at)
  SELECT 'token-' || id, id, leadtap.from_ms(${now}), leadtap.from_ms(${now}) + interval '90 days' FROM leadtap.users;`;

const leads = (shape: Shape, firstAt: number, now: number): string => `
INSERT INTO leadtap.leads (company_id, created_at, id, branch_id, department_id, first_name, last_name, phone1, email, address,
  postal_code, appointment_date_time, status_value, custom_fields, images, same_day, updated_at, automation_trigger_id,
  automation_created_at)
SELECT ${COMPANY}, leadtap.from_ms(stamp), ${uuid('000')}, CASE position % 2 WHEN 0 THEN 'north' ELSE 'south' END,
  CASE position % 2 WHEN 0 THEN 'repairs' ELSE 'sales' END, 'First' || (n % 997), 'Last' || (n % 1009),
  '+33 1 99 00 ' || (n % 100) || ' ' || (n % 89), 'contact-' || n || '@mail.example', (n % 200) || ' Rue des Lilas',
  '69' || lpad((n % 999)::text, 3, '0'), CASE position % 3 WHEN 0 THEN leadtap.from_ms(${now}) END, 'NEW',
  CASE WHEN position % 5 < 3 THEN '{"source":"website"}'::jsonb ELSE '{}' END,
  CASE position % 7 WHEN 0 THEN ARRAY['https://images.example.com/' || n || '.jpg'] ELSE '{}' END, n % 5 = 0, leadtap.from_ms(stamp),
  ${uuid('001')}, leadtap.from_ms(stamp)
FROM generate_series($1::bigint, $2::bigint) AS n,
  LATERAL (SELECT ${companyOfLead(shape)} AS company, ${positionOfLead(shape)} AS position, ${stampOfLead(shape, firstAt)} AS stamp) AS placed`;

/** Fills a database whose schema is there. As its superuser, because no trigger shall stamp these leads anew. */
export async function fillPostgres(
  url: string,
  shape: Shape,
  progress: (done: number) => void,
): Promise<void> {
  const now = Date.now();
  const first = await connect(url);
  const second = await connect(url);
  const text = leads(shape, firstLeadAt(shape, now), now);
  let from = 0;
  const work = async (client: pg.Client) => {
    while (from < shape.leads) {
      const begin = from;
      from = Math.min(from + CHUNK, shape.leads);
      await client.query(text, [begin, from - 1]);
      progress(from);
    }
  };
  try {
    await first.query(organisation(shape, now));
    await withIndexesRebuilt(first, 'leadtap.leads', async () => {
      await Promise.all([work(first), work(second)]);
    });
    // As autovacuum would within minutes, but not in the middle of a round.
    await first.query('VACUUM ANALYZE');
    await first.query('CHECKPOINT');
  } finally {
    await first.end();
    await second.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('SET session_replication_role = replica; SET synchronous_commit = off');
  return client;
}
