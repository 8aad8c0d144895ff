import type { Lead } from '@leadtap/client';
import { visible } from '../text.tsx';

/**
 * What the leads prove about the access level. The endpoint does not name the level, but a lead without a branch is seen at
 * company level only, and one without a department at branch level or above.
 */
export function describeSight(leads: readonly Lead[]): string {
  const [first] = leads;
  if (!first) return 'It sees no lead yet, so nothing shows how far it sees.';
  const companyName = visible(first.companyName);
  const places = leads.map(({ branchName, departmentName }) => ({ branchName, departmentName }));
  const branches = new Set(places.map(({ branchName }) => branchName));
  if (branches.has(null) || branches.size > 1) return `It sees the whole company ${companyName}.`;
  const departments = new Set(places.map(({ departmentName }) => departmentName));
  const branch = `the branch ${visible(first.branchName ?? '')} of ${companyName}`;
  if (departments.has(null) || departments.size > 1)
    return `All loaded leads are of ${branch}: it sees this branch, or more.`;
  return `All loaded leads are of the department ${visible(first.departmentName ?? '')} in ${branch}: it sees this department, or more.`;
}
