import type { Status, User } from '../../accounts/records.ts';
import type { StoredCompany } from '../../accounts/store.ts';
import { SELECT_USERS } from './accounts.ts';
import type { Connection } from './connection.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

interface DepartmentRow extends Named {
  readonly branchId: string;
}

type StatusRow = Omit<Status, 'final'> & { readonly final: number };

export function prepareOrganisationReader(connection: Connection) {
  const companiesAfter = connection.prepare<Named>(
    'SELECT id, name FROM companies WHERE id > ? ORDER BY id LIMIT ?',
  );
  const companyById = connection.prepare<Named>('SELECT id, name FROM companies WHERE id = ?');
  const statuses = connection.prepare<StatusRow>(
    'SELECT value, label, color, final FROM statuses WHERE company_id = ? ORDER BY position, value',
  );
  const branches = connection.prepare<Named>(
    'SELECT id, name FROM branches WHERE company_id = ? ORDER BY id',
  );
  const departments = connection.prepare<DepartmentRow>(
    'SELECT id, name, branch_id AS branchId FROM departments WHERE company_id = ? ORDER BY id',
  );
  const users = connection.prepare<User>(
    `${SELECT_USERS} WHERE company_id = ? AND id > ? ORDER BY id LIMIT ?`,
  );

  function toCompany({ id, name }: Named): StoredCompany {
    const departmentsOf = new Map<string, Named[]>();
    for (const { branchId, id: departmentId, name: departmentName } of departments.all(id)) {
      const siblings = departmentsOf.get(branchId) ?? [];
      siblings.push({ id: departmentId, name: departmentName });
      departmentsOf.set(branchId, siblings);
    }
    return {
      id,
      name,
      statuses: statuses
        .all(id)
        .map(({ value, label, color, final }) => ({ value, label, color, final: final === 1 })),
      branches: branches.all(id).map((branch) => ({
        id: branch.id,
        name: branch.name,
        departments: departmentsOf.get(branch.id) ?? [],
      })),
    };
  }

  return {
    readCompanies: (afterId: string | undefined, limit: number): StoredCompany[] =>
      companiesAfter.all(afterId ?? '', limit).map(toCompany),
    readCompany(id: string): StoredCompany | undefined {
      const row = companyById.get(id);
      return row?.id === id ? toCompany(row) : undefined;
    },
    readUsers: (companyId: string, afterId: string | undefined, limit: number): User[] =>
      users.all(companyId, afterId ?? '', limit).map((row) => ({ ...row })),
  };
}
