/** The rules that decide which branch, department and status a lead gets. */

import type { Status } from '../accounts/records.ts';
import { toIso } from '../lib/clock.ts';
import { isInScope, type Place } from './access.ts';
import { findOtherPerson, type PersonRow } from './other-person.ts';
import type { LeadInput, LeadScope } from './record.ts';
import type { StoredLeadRow } from './row.ts';
import type { PlacementProblem, PlannedLead, ScopedWriteOptions, WriteOptions } from './store.ts';

/** The clocks of two machines may differ. */
const MAX_HISTORY_AHEAD_MS = 60_000;

/** The problem of a historical lead that would push the stamps of all later leads ahead of the clock. */
export const findFutureCreatedAt = (createdAt: number, now: number): PlacementProblem[] =>
  createdAt > now + MAX_HISTORY_AHEAD_MS
    ? [{ field: 'createdAt', reason: 'in-future', value: toIso(createdAt) }]
    : [];

/** The branch, department and status of a lead. */
export interface Placement extends Omit<Place, 'companyId'> {
  readonly statusValue: string;
}

export type Placed = { readonly placement: Placement } | { readonly problem: PlacementProblem };

export type StatusName = Pick<Status, 'value' | 'label'>;

const foldCase = (text: string): string => text.trim().toLowerCase();

/** The status with this value, or else with this label in any case. */
export const findStatus = (statuses: readonly StatusName[], text: string): string | undefined =>
  (
    statuses.find(({ value }) => value === text) ??
    statuses.find(({ label }) => foldCase(label) === foldCase(text)) ??
    statuses.find(({ value }) => foldCase(value) === foldCase(text))
  )?.value;

/** The organisation as one transaction reads it. */
export interface OrganisationLookup {
  hasCompany(companyId: string): boolean;
  /** In the order of the company's catalogue. */
  statuses(companyId: string): readonly StatusName[];
  hasBranch(companyId: string, branchId: string): boolean;
  branchOfDepartment(companyId: string, departmentId: string): string | undefined;
}

/** The organisation and the leads as one transaction reads them. */
export interface LeadLookup extends OrganisationLookup {
  /** Undefined if there is no such lead. */
  findExisting(companyId: string, id: string): (PlacementRow & PersonRow) | undefined;
  /** A lead that was erased may exist: another program may have added it. */
  isErased(companyId: string, id: string): boolean;
}

export type PlacementRow = Pick<StoredLeadRow, 'branch_id' | 'department_id' | 'status_value'>;

export const toPlacement = (row: PlacementRow): Placement => ({
  branchId: row.branch_id,
  departmentId: row.department_id,
  statusValue: row.status_value,
});

/** What a write would do with a lead. */
export function planLead(lead: LeadInput, lookup: LeadLookup, options: WriteOptions): PlannedLead {
  const existing = findExisting(lead, lookup);
  const placed = resolvePlacement(lead, existing && toPlacement(existing), lookup);
  if ('problem' in placed) return { kind: 'rejected', problem: placed.problem };
  const [problem] = existing ? [] : findNotAddable(lead, lookup, options);
  if (problem) return { kind: 'rejected', problem };
  const { branchId, departmentId } = placed.placement;
  return { kind: existing ? 'updated' : 'added', branchId, departmentId };
}

/** All problems that a lead has with its places, its scope and its id. */
export function findLeadProblems(
  lead: LeadInput,
  lookup: LeadLookup,
  options: ScopedWriteOptions,
): PlacementProblem[] {
  const existing = findExisting(lead, lookup);
  return [
    ...findPlacementProblems(lead, lookup),
    ...(existing ? findUnchangeable(lead, existing, options) : findErased(lead, lookup, options)),
  ];
}

const findExisting = ({ companyId, id }: LeadInput, lookup: LeadLookup) =>
  id === undefined ? undefined : lookup.findExisting(companyId, id);

/** Of a lead outside of the scope, it is not said whose it is. */
function findUnchangeable(
  lead: LeadInput,
  existing: PlacementRow & PersonRow,
  { scope }: ScopedWriteOptions,
): PlacementProblem[] {
  const outside = findOutsideScope(lead, toPlacement(existing), scope);
  return outside.length > 0 ? outside : findOtherPerson(lead, existing, scope);
}

/** The placement of the lead after this input, or its first problem; `existing` is its placement before. */
export function resolvePlacement(
  input: LeadInput,
  existing: Placement | undefined,
  organisation: OrganisationLookup,
  scope?: LeadScope,
): Placed {
  const [outside] = findOutsideScope(input, existing, scope);
  if (outside) return { problem: outside };
  const placed = resolveAnywhere(input, existing, organisation);
  if (!scope || 'problem' in placed || isInScope(scope, { companyId: input.companyId, ...placed.placement }))
    return placed;
  const field = scope.level === 'DEPARTMENT' ? 'departmentId' : 'branchId';
  return { problem: { field, reason: 'outside-scope', value: placed.placement[field] } };
}

/** The problem of a lead that exists outside of the scope. */
export const findOutsideScope = (
  { companyId, id }: LeadInput,
  existing: Placement | undefined,
  scope: LeadScope | undefined,
): PlacementProblem[] =>
  scope && existing && !isInScope(scope, { companyId, ...existing })
    ? [{ field: 'id', reason: 'outside-scope', value: id ?? null }]
    : [];

/** The problems of a lead that does not exist: it was erased, or may only be updated. */
export const findNotAddable = (
  lead: LeadInput,
  lookup: LeadLookup,
  options: WriteOptions,
): PlacementProblem[] => [...findErased(lead, lookup, options), ...findNoContent(lead)];

const findErased = (
  { companyId, id }: LeadInput,
  lookup: LeadLookup,
  { allowErased = false }: WriteOptions,
): PlacementProblem[] =>
  id !== undefined && !allowErased && lookup.isErased(companyId, id)
    ? [{ field: 'id', reason: 'erased', value: id }]
    : [];

const findNoContent = ({ id, onlyUpdate }: LeadInput): PlacementProblem[] =>
  onlyUpdate && id !== undefined ? [{ field: 'id', reason: 'no-content', value: id }] : [];

function resolveAnywhere(
  input: LeadInput,
  existing: Placement | undefined,
  organisation: OrganisationLookup,
): Placed {
  const { companyId, departmentId } = input;
  const statuses = organisation.statuses(companyId);
  const named = input.statusValue ?? existing?.statusValue ?? defaultStatus(statuses);
  const [problem] = findPlacementProblems(input, organisation, named);
  if (problem) return { problem };
  const statusValue = findStatus(statuses, named) ?? named;
  if (departmentId == null) return { placement: { statusValue, ...withoutNewDepartment(input, existing) } };
  const branchId = organisation.branchOfDepartment(companyId, departmentId) ?? null;
  return { placement: { branchId, departmentId, statusValue } };
}

/** The department determines the branch; a branch that is also given must be the same one. */
export function findPlacementProblems(
  { companyId, branchId, departmentId, statusValue: given }: LeadInput,
  organisation: OrganisationLookup,
  statusValue = given,
): PlacementProblem[] {
  if (!organisation.hasCompany(companyId))
    return [{ field: 'companyId', reason: 'unknown', value: companyId }];
  const problems: PlacementProblem[] = [];
  const statuses = organisation.statuses(companyId);
  if (statusValue !== undefined && findStatus(statuses, statusValue) === undefined) {
    const allowed = statuses.map(({ value }) => value);
    problems.push({ field: 'statusValue', reason: 'unknown', value: statusValue, allowed });
  }
  const hasBranch = branchId != null && organisation.hasBranch(companyId, branchId);
  if (branchId != null && !hasBranch)
    problems.push({ field: 'branchId', reason: 'unknown', value: branchId });
  if (departmentId == null) return problems;
  const found = organisation.branchOfDepartment(companyId, departmentId);
  if (found === undefined) problems.push({ field: 'departmentId', reason: 'unknown', value: departmentId });
  else if (hasBranch && branchId !== found)
    problems.push({
      field: 'departmentId',
      reason: 'in-another-branch',
      value: departmentId,
      branchId: found,
    });
  return problems;
}

/** A lead that moves to another branch loses its department of the old branch. */
function withoutNewDepartment(input: LeadInput, existing: Placement | undefined): Omit<Place, 'companyId'> {
  const branchId = input.branchId === undefined ? (existing?.branchId ?? null) : input.branchId;
  const stays = input.departmentId === undefined && branchId === existing?.branchId;
  return { branchId, departmentId: stays ? (existing?.departmentId ?? null) : null };
}

/** A new lead gets the status NEW if the catalogue has it, else the first one. */
const defaultStatus = (statuses: readonly StatusName[]): string =>
  statuses.some(({ value }) => value === 'NEW') ? 'NEW' : (statuses[0]?.value ?? 'NEW');
