import type { StoredLead } from '../judge/history.ts';
import { withClient } from './with-client.ts';

export const readStoredFrom = (url: string, companyIds: readonly string[]) => (): Promise<StoredLead[]> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<StoredLead>(
      `SELECT company_id AS "companyId", id, first_name AS version,
              leadtap.to_ms(created_at)::double precision AS "createdAt"
         FROM leadtap.leads WHERE company_id = ANY ($1)`,
      [companyIds],
    );
    return rows;
  });
