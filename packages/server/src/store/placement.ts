/** The rules that decide which branch, department and status a lead or a user gets. */
import type { LeadInput, User } from './records.ts';
import type { PlacementProblem, UpdateUserOutcome } from './store.ts';

/** The branch, department and status of a lead. */
export interface Place {
  readonly branchId: string | null;
  readonly departmentId: string | null;
  readonly statusValue: string;
}

export type Placed = { readonly place: Place } | { readonly problem: PlacementProblem };

/** The organisation as one transaction reads it. */
export interface Places {
  /** In the order of the company's catalogue. */
  statusValues(companyId: string): readonly string[];
  hasBranch(companyId: string, branchId: string): boolean;
  branchOfDepartment(companyId: string, departmentId: string): string | undefined;
}

/** The place of the lead after this input; `existing` is its place before. */
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

/** All placement problems of a lead, where `resolvePlace` returns only the first one. */
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

/** The department determines the branch; a branch that is also given must be the same one. */
function inDepartment(input: LeadInput, departmentId: string, statusValue: string, places: Places): Placed {
  const branchId = places.branchOfDepartment(input.companyId, departmentId);
  if (branchId === undefined)
    return { problem: { field: 'departmentId', reason: 'unknown', value: departmentId } };
  if (input.branchId != null && input.branchId !== branchId)
    return { problem: { field: 'departmentId', reason: 'in-another-branch', value: departmentId, branchId } };
  return { place: { branchId, departmentId, statusValue } };
}

/** A lead that moves to another branch loses its department of the old branch. */
function withoutNewDepartment(input: LeadInput, existing: Place | undefined): Omit<Place, 'statusValue'> {
  const branchId = input.branchId === undefined ? (existing?.branchId ?? null) : input.branchId;
  const stays = input.departmentId === undefined && branchId === existing?.branchId;
  return { branchId, departmentId: stays ? (existing?.departmentId ?? null) : null };
}

/** A new lead gets the status NEW if the catalogue has it, else the first one. */
const defaultStatus = (statuses: readonly string[]): string =>
  statuses.includes('NEW') ? 'NEW' : (statuses[0] ?? 'NEW');

/** What the user's company has of the branch and the department that the user names. */
export interface PlacesFound {
  readonly branchExists: boolean;
  /** Undefined: there is no such department. */
  readonly branchOfDepartment: string | undefined;
}

type PlaceProblem = Extract<UpdateUserOutcome, { kind: 'place-missing' | 'place-unknown' }>;

/** The place of the access level must be given and exist. Places below that level are cleared. */
export function placeUser(
  user: User,
  { branchExists, branchOfDepartment }: PlacesFound,
): User | PlaceProblem {
  const { accessLevel, branchId, departmentId } = user;
  if (accessLevel === 'COMPANY') return { ...user, branchId: null, departmentId: null };
  if (accessLevel === 'BRANCH') {
    if (branchId === null) return { kind: 'place-missing', field: 'branchId' };
    if (!branchExists) return { kind: 'place-unknown', field: 'branchId' };
    return { ...user, departmentId: null };
  }
  if (departmentId === null) return { kind: 'place-missing', field: 'departmentId' };
  if (branchOfDepartment === undefined) return { kind: 'place-unknown', field: 'departmentId' };
  return { ...user, branchId: branchOfDepartment };
}
