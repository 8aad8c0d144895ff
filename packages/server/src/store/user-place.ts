import type { User } from './records.ts';
import type { UpdateUserOutcome } from './store.ts';

/** What the company of a user has of the places that the user is to stand in. */
export interface PlacesFound {
  readonly branchExists: boolean;
  /** Absent: there is no such department. */
  readonly branchOfDepartment: string | undefined;
}

type PlaceProblem = Extract<UpdateUserOutcome, { kind: 'place-missing' | 'place-unknown' }>;

/** The place must exist, and the access level needs one; a level keeps no place finer than itself. */
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
