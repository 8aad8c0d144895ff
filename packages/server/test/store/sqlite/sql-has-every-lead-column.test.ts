import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { LEAD_COLUMNS } from '../../../src/leads/row.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';

const PLACES = ['company_id', 'branch_id', 'department_id'];

test('the table leads has the columns of LEAD_FIELDS, and no others', () => {
  const connection = new Connection(join(tempFolder(), 'leadtap.db'));
  onTestFinished(() => connection.close());
  migrate(connection);
  const rows = connection.prepare<{ name: string }>(`SELECT name FROM pragma_table_info('leads')`).all();
  const expected = [...PLACES, ...LEAD_COLUMNS.map(({ column }) => column)];
  expect(rows.map(({ name }) => name).sort()).toEqual(expected.sort());
});
