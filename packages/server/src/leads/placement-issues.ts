/** What is wrong with the place of a lead, its status or its id, in words: for an import and for leads over HTTP. */

import { quote } from '../lib/escape.ts';
import { NO_CONTENT, type ValidationIssue } from './parse-lead.ts';
import type { PlacementProblem } from './store.ts';

const PLACES = { companyId: 'company', branchId: 'branch', departmentId: 'department' } as const;

export function placementIssue(problem: PlacementProblem): ValidationIssue {
  if (problem.reason === 'no-content') return { detail: NO_CONTENT };
  if (problem.reason === 'not-stored' && problem.constraint !== undefined)
    return { detail: violation(problem.constraint) };
  return { field: problem.field, detail: placementDetail(problem) };
}

export const violation = (constraint: string): string =>
  `violates the constraint ${quote(constraint)}, which the operator has added to the database`;

function placementDetail(problem: Exclude<PlacementProblem, { reason: 'no-content' }>): string {
  if (problem.reason === 'outside-scope') return outsideScope(problem.field, problem.value);
  const value = quote(problem.value);
  if (problem.reason === 'in-another-branch')
    return `department ${value} belongs to branch ${quote(problem.branchId)}; give that branchId, or leave branchId out`;
  if (problem.reason === 'not-stored')
    return `lead ${value} was not stored: a trigger of the database suppressed it`;
  if (problem.reason === 'other-person')
    return `lead ${value} is of another person; send a different id for each enquiry, or none`;
  if (problem.reason === 'in-future') return `${value} is in the future`;
  if (problem.reason === 'erased')
    return `lead ${value} was erased; leadtap leads import --allow-erased adds it as a new lead`;
  if (problem.field === 'statusValue')
    return `unknown status ${value}; use one of ${problem.allowed.join(', ')}, or add it with leadtap org apply`;
  return `unknown ${PLACES[problem.field]} ${value}; create it with leadtap org apply`;
}

/** Also for what the intake finds before it writes. Null means no branch or no department. */
export function outsideScope(
  field: 'id' | 'companyId' | 'branchId' | 'departmentId',
  value: string | null,
): string {
  if (field === 'companyId')
    return `${quote(value ?? '')} is not the company of your user; leave companyId out`;
  if (field === 'id')
    return `lead ${quote(value ?? '')} was erased, or is outside the access level of your user; use another id`;
  const place = PLACES[field];
  const named = value === null ? `a lead without a ${place} is` : `${place} ${quote(value)} is unknown or`;
  return `${named} outside the access level of your user; leave ${field} out`;
}
