type Id = string | null | undefined;

const given = (id: Id): string => (id == null ? '' : `=${id}`);

/** One text for what a lead says about its place. No id holds a NUL. */
export const placeKey = (companyId: string, branchId: Id, departmentId: Id, statusValue: Id): string =>
  `${companyId}\0${given(branchId)}\0${given(departmentId)}\0${given(statusValue)}`;
