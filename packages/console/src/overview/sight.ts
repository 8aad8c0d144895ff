import type { Lead } from '@leadtap/client';
import { visible } from '../text.tsx';

/**
 * What the leads prove about the access level. The endpoint does not name the level, but a lead without a branch is seen at
 * company level only, and one without a department at branch level or above. Undefined without leads.
 */
export function sightOf(leads: readonly Lead[]): string | undefined {
  const [first] = leads;
  if (!first) return undefined;
  const branches = new Set(leads.map(({ branchName }) => branchName));
  if (branches.has(null) || branches.size > 1) return 'whole company';
  const departments = new Set(leads.map(({ departmentName }) => departmentName));
  const place =
    departments.has(null) || departments.size > 1
      ? `branch ${first.branchName}`
      : `department ${first.departmentName}`;
  return `${visible(place)}, or more`;
}
