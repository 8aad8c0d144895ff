import type { PlacementProblem } from '../../store/store.ts';
import type { LineProblem } from './line.ts';
import { shown } from './validation-issue.ts';

const PLACES = { companyId: 'company', branchId: 'branch', departmentId: 'department' } as const;

function mendOf(problem: PlacementProblem): string {
  const value = shown(problem.value);
  if (problem.reason === 'in-another-branch')
    return `department ${value} belongs to branch ${shown(problem.branchId)}; give that branchId, or leave branchId out`;
  if (problem.reason === 'not-stored')
    return `lead ${value} was not stored: a trigger of the database suppressed it`;
  if (problem.field === 'statusValue')
    return `unknown status ${value}; use one of ${problem.allowed.join(', ')}, or add it with leadtap org apply`;
  return `unknown ${PLACES[problem.field]} ${value}; create it with leadtap org apply`;
}

/** A lead that has no place in its company, in the words of a line that is wrong. */
export const misplaced = (problem: PlacementProblem): LineProblem => ({
  field: problem.field,
  issue: mendOf(problem),
});
