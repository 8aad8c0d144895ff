import { withClient } from './with-client.ts';

/** In the order of the foreign keys. */
const TABLES = ['users', 'statuses', 'departments', 'branches'];

export const deleteCompanyFrom =
  (url: string) =>
  (companyId: string, beforeCommit: (ids: readonly string[]) => () => void): Promise<void> =>
    withClient(url, async (client) => {
      await client.query('BEGIN');
      const { rows } = await client.query<{ id: string }>(
        'DELETE FROM leadtap.leads WHERE company_id = $1 RETURNING id',
        [companyId],
      );
      for (const table of TABLES)
        await client.query(`DELETE FROM leadtap.${table} WHERE company_id = $1`, [companyId]);
      await client.query('DELETE FROM leadtap.companies WHERE id = $1', [companyId]);
      const acknowledge = beforeCommit(rows.map(({ id }) => id));
      await client.query('COMMIT');
      acknowledge();
    });
