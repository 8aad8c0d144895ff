/** Fills an SQLite database whose schema is there: `fill-sqlite.js FILE SHAPE`. A process of its own, because it blocks. */
import { DatabaseSync } from '@photostructure/sqlite';
import {
  byPlace,
  companyOfLead,
  companyOfUser,
  numberOfUser,
  positionOfLead,
  stampOfLead,
} from './columns.ts';
import { firstLeadAt, type Shape, usersIn } from './shape.ts';
import { STATUSES } from './statuses.ts';

const [file = '', json = ''] = process.argv.slice(2);
const shape: Shape = JSON.parse(json);
const now = Date.now();
const firstAt = firstLeadAt(shape, now);

const numbers = (count: number) =>
  `RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${count})`;
const COMPANY = `printf('company-%05d', company)`;
const USER = `printf('user-%05d-%05d', company, number)`;
const uuid = (variant: string) => `printf('%08x-%04x-7${variant}-8000-%012x', stamp >> 16, stamp & 65535, n)`;

const ORGANISATION = `
INSERT INTO companies (id, name, last_stamp) WITH ${numbers(shape.companies)}
  SELECT printf('company-%05d', n), 'Company ' || n, 0 FROM numbers;
INSERT INTO branches (company_id, id, name)
  SELECT id, 'north', 'North' FROM companies UNION ALL SELECT id, 'south', 'South' FROM companies ORDER BY 1, 2;
INSERT INTO departments (company_id, id, branch_id, name)
  SELECT id, 'repairs', 'north', 'Repairs' FROM companies UNION ALL SELECT id, 'sales', 'south', 'Sales' FROM companies ORDER BY 1, 2;
INSERT INTO statuses (company_id, value, label, color, final, position)
  WITH status (value, label, color, final, position) AS (VALUES ${STATUSES})
  SELECT id, value, label, color, final, position FROM companies, status ORDER BY 1, 2;
INSERT INTO users (id, company_id, email, name, plan, access_level, branch_id, department_id)
  WITH ${numbers(usersIn(shape))},
    placed AS (SELECT ${companyOfUser(shape)} AS company, ${numberOfUser(shape)} AS number FROM numbers)
  SELECT ${USER}, ${COMPANY}, ${USER} || '@example.com', 'User ' || number, 'PROFESSIONAL',
    ${byPlace(({ accessLevel }) => accessLevel)}, ${byPlace(({ branchId }) => branchId)},
    ${byPlace(({ departmentId }) => departmentId)} FROM placed;
INSERT INTO issued_tokens (id, user_id, name, issued_at, expires_at)
  SELECT 'token-' || id, id, NULL, ${now}, ${now + 90 * 24 * 3600 * 1000} FROM users;`;

const LEADS = `
INSERT INTO leads (company_id, created_at, id, branch_id, department_id, first_name, last_name, phone1, email, address,
  postal_code, appointment_date_time, status_value, custom_fields, images, same_day, updated_at, automation_trigger_id,
  automation_created_at)
WITH ${numbers(shape.leads)},
  placed AS (SELECT n, ${companyOfLead(shape)} AS company, ${positionOfLead(shape)} AS position,
                    ${stampOfLead(shape, firstAt)} AS stamp FROM numbers)
SELECT ${COMPANY}, stamp, ${uuid('000')}, iif(position % 2 = 0, 'north', 'south'), iif(position % 2 = 0, 'repairs', 'sales'),
  'First' || (n % 997), 'Last' || (n % 1009), '+33 1 99 00 ' || (n % 100) || ' ' || (n % 89), 'contact-' || n || '@mail.example',
  (n % 200) || ' Rue des Lilas', printf('69%03d', n % 999), iif(position % 3 = 0, ${now}, NULL), 'NEW', iif(position % 5 < 3, '{"source":"website"}', '{}'),
  iif(position % 7 = 0, '["https://images.example.com/' || n || '.jpg"]', '[]'), n % 5 = 0, stamp, ${uuid('001')}, stamp
FROM placed;
UPDATE companies SET last_stamp = coalesce((SELECT max(created_at) FROM leads WHERE company_id = companies.id), 0);`;

const database = new DatabaseSync(file);
// It need not survive a crash, and there is no other connection.
database.exec(
  'PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000',
);
database.exec('BEGIN');
database.exec(ORGANISATION);
database.exec(LEADS);
database.exec('COMMIT');
database.exec('PRAGMA journal_mode = WAL');
database.close();
