import type { User } from '../../accounts/records.ts';
import type { OrganisationReader, StoredCompany } from '../../accounts/store.ts';
import { USER_COLUMNS } from './accounts.ts';
import { type Database, isStorable, NO_TIMEOUT_MS } from './connection.ts';

/** One statement, hence one snapshot. */
const COMPANIES = `
  SELECT c.id, c.name,
         (SELECT coalesce(json_agg(json_build_object('value', s.value, 'label', s.label, 'color', s.color, 'final', s.final)
                   ORDER BY s.position, s.value), '[]') FROM leadtap.statuses AS s WHERE s.company_id = c.id) AS statuses,
         (SELECT coalesce(json_agg(json_build_object('id', b.id, 'name', b.name, 'departments',
                   (SELECT coalesce(json_agg(json_build_object('id', d.id, 'name', d.name) ORDER BY d.id), '[]')
                      FROM leadtap.departments AS d WHERE d.company_id = c.id AND d.branch_id = b.id))
                   ORDER BY b.id), '[]') FROM leadtap.branches AS b WHERE b.company_id = c.id) AS branches
    FROM leadtap.companies AS c`;

const COMPANIES_AFTER = `${COMPANIES} WHERE c.id > $1 ORDER BY c.id LIMIT $2`;
const COMPANY_BY_ID = `${COMPANIES} WHERE c.id = $1`;
const USERS_AFTER = `
  SELECT ${USER_COLUMNS} FROM leadtap.users WHERE company_id = $1 AND id > $2 ORDER BY company_id, id LIMIT $3`;

/** Its duration depends on the size of the organisation. */
const NO_TIMEOUT = { timeoutMs: NO_TIMEOUT_MS };

export const organisationReader = (database: Database): OrganisationReader => ({
  readCompanies: (afterId, limit) =>
    database.query<StoredCompany>(COMPANIES_AFTER, [afterId ?? '', limit], NO_TIMEOUT),

  async readCompany(id) {
    if (!isStorable(id)) return undefined;
    const [company] = await database.query<StoredCompany>(COMPANY_BY_ID, [id], NO_TIMEOUT);
    // The driver replaces a lone surrogate by U+FFFD, which may be the id of another company.
    return company?.id === id ? company : undefined;
  },

  readUsers: (companyId, afterId, limit) =>
    database.query<User>(USERS_AFTER, [companyId, afterId ?? '', limit], NO_TIMEOUT),
});
