import type { LeadInput } from './records.ts';
import type { PlacementProblem } from './store.ts';

/** Where a lead stands in its company. */
export interface Place {
  readonly branchId: string | null;
  readonly departmentId: string | null;
  readonly statusValue: string;
}

export type Placed = { readonly place: Place } | { readonly problem: PlacementProblem };

/** The organisation as one transaction sees it. */
export interface Places {
  /** In the order of the catalogue. */
  statusValues(companyId: string): readonly string[];
  hasBranch(companyId: string, branchId: string): boolean;
  branchOfDepartment(companyId: string, departmentId: string): string | undefined;
}

/** Where the lead stands after this input; `existing` is where it stands now. */
export function resolvePlace(input: LeadInput, existing: Place | undefined, places: Places): Placed {
  const statuses = places.statusValues(input.companyId);
  const statusValue = input.statusValue ?? existing?.statusValue ?? defaultStatus(statuses);
  if (!statuses.includes(statusValue))
    return { problem: { field: 'statusValue', reason: 'unknown', value: statusValue, allowed: statuses } };
  if (input.branchId != null && !places.hasBranch(input.companyId, input.branchId))
    return { problem: { field: 'branchId', reason: 'unknown', value: input.branchId } };
  if (input.departmentId != null) return inDepartment(input, input.departmentId, statusValue, places);
  return { place: { ...withoutNewDepartment(input, existing), statusValue } };
}

/** Every place that the lead names and its company does not have. `resolvePlace` stops at the first one. */
export function findPlacementProblems(
  input: LeadInput,
  places: Places & { hasCompany(companyId: string): boolean },
): PlacementProblem[] {
  const { companyId, branchId, departmentId, statusValue } = input;
  if (!places.hasCompany(companyId)) return [{ field: 'companyId', reason: 'unknown', value: companyId }];
  const problems: PlacementProblem[] = [];
  const statuses = places.statusValues(companyId);
  if (statusValue !== undefined && !statuses.includes(statusValue))
    problems.push({ field: 'statusValue', reason: 'unknown', value: statusValue, allowed: statuses });
  const hasBranch = branchId == null || places.hasBranch(companyId, branchId);
  if (!hasBranch) problems.push({ field: 'branchId', reason: 'unknown', value: branchId });
  if (departmentId == null) return problems;
  const placed = inDepartment(hasBranch ? input : { ...input, branchId: null }, departmentId, '', places);
  return 'problem' in placed ? [...problems, placed.problem] : problems;
}

/** The department says which branch it is; a branch given beside it must be that one. */
function inDepartment(input: LeadInput, departmentId: string, statusValue: string, places: Places): Placed {
  const branchId = places.branchOfDepartment(input.companyId, departmentId);
  if (branchId === undefined)
    return { problem: { field: 'departmentId', reason: 'unknown', value: departmentId } };
  if (input.branchId != null && input.branchId !== branchId)
    return { problem: { field: 'departmentId', reason: 'in-another-branch', value: departmentId, branchId } };
  return { place: { branchId, departmentId, statusValue } };
}

/** A lead that moves to another branch leaves the department it had in the old one. */
function withoutNewDepartment(input: LeadInput, existing: Place | undefined): Omit<Place, 'statusValue'> {
  const branchId = input.branchId === undefined ? (existing?.branchId ?? null) : input.branchId;
  const stays = input.departmentId === undefined && branchId === existing?.branchId;
  return { branchId, departmentId: stays ? (existing?.departmentId ?? null) : null };
}

/** A new lead is NEW where the catalogue has that status, else in the first one. */
const defaultStatus = (statuses: readonly string[]): string =>
  statuses.includes('NEW') ? 'NEW' : (statuses[0] ?? 'NEW');
