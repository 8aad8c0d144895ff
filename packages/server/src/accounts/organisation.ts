/** The organisation file: companies with their branches, departments, statuses and users. */
import { isJsonObject } from '../lib/json.ts';
import {
  ACCESS_LEVELS,
  type FindProblem,
  findColorProblem,
  findEmailProblem,
  findPlanProblem,
  findStatusProblem,
  findTextProblem,
} from './organisation-fields.ts';
import type { Branch, Company, Organisation, User, UserInput } from './records.ts';

/** A mistake at one place of the file. */
export interface FileProblem {
  /** Such as `companies[0].users[2].plan`; empty for the file as a whole. */
  readonly path: string;
  readonly detail: string;
}

export type ParsedOrganisation =
  | { readonly kind: 'ok'; readonly organisation: Organisation }
  | { readonly kind: 'invalid'; readonly problems: readonly FileProblem[] };

interface BranchFile extends Omit<Branch, 'departments'> {
  readonly departments?: Branch['departments'];
}

type UserFile = Pick<User, 'id' | 'plan' | 'accessLevel'> & Partial<UserInput>;

interface CompanyFile extends Omit<Company, 'branches' | 'users'> {
  readonly branches?: readonly BranchFile[];
  readonly users?: readonly UserFile[];
}

/** The problems of a value and of what is in it. */
type Check = (value: unknown, path: string) => readonly FileProblem[];

const valueThat =
  (isRight: (value: unknown) => boolean, detail: string): Check =>
  (value, path) =>
    isRight(value) ? [] : [{ path, detail }];

const text =
  (findProblem: FindProblem = (value) => findTextProblem(value)): Check =>
  (value, path) => {
    const detail = typeof value === 'string' ? findProblem(value) : 'must be a string';
    return detail === undefined ? [] : [{ path, detail }];
  };

const nullable =
  (check: Check): Check =>
  (value, path) =>
    value === null ? [] : check(value, path);

const list =
  (check: Check): Check =>
  (value, path) =>
    Array.isArray(value)
      ? value.flatMap((item: unknown, index) => check(item, `${path}[${index}]`))
      : [{ path, detail: 'must be an array' }];

const record =
  (required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check =>
  (value, path) => {
    if (!isJsonObject(value)) return [{ path, detail: 'must be an object' }];
    const checks = { ...required, ...optional };
    const known = Object.keys(checks);
    const missing = Object.keys(required).filter((key) => !Object.hasOwn(value, key));
    const unknown = Object.keys(value).filter((key) => !known.includes(key));
    return [
      ...missing.map((key) => ({ path: joinPath(path, key), detail: 'is missing' })),
      ...unknown.map((key) => ({
        path: joinPath(path, key),
        detail: `is not known here; known are ${known.join(', ')}`,
      })),
      ...Object.entries(checks).flatMap(([key, check]) =>
        Object.hasOwn(value, key) ? check(value[key], joinPath(path, key)) : [],
      ),
    ];
  };

const STATUS = record({
  value: text(findStatusProblem),
  label: text(),
  color: text(findColorProblem),
  final: valueThat((value) => typeof value === 'boolean', 'must be true or false'),
});

const STATUSES: Check = (value, path) =>
  Array.isArray(value) && value.length === 0
    ? [{ path, detail: 'must list at least one status; leave it out to keep the catalogue' }]
    : list(STATUS)(value, path);

const PLACE = { id: text(), name: text() };
const BRANCH = record(PLACE, { departments: list(record(PLACE)) });

const LEVELS: readonly unknown[] = ACCESS_LEVELS;
const USER = record(
  {
    id: text(),
    plan: text(findPlanProblem),
    accessLevel: valueThat((value) => LEVELS.includes(value), `must be one of ${ACCESS_LEVELS.join(', ')}`),
  },
  {
    email: nullable(text(findEmailProblem)),
    name: nullable(text()),
    branchId: nullable(text()),
    departmentId: nullable(text()),
  },
);

const COMPANY = record(PLACE, { statuses: STATUSES, branches: list(BRANCH), users: list(USER) });
const FILE = record({ companies: list(COMPANY) });

/** Checks the whole file, so that all mistakes are reported together. */
export function parseOrganisation(json: unknown): ParsedOrganisation {
  const problems = [...FILE(json, ''), ...findReferenceProblems(json)];
  if (problems.length > 0) return { kind: 'invalid', problems };
  const { companies } = json as { readonly companies: readonly CompanyFile[] };
  return { kind: 'ok', organisation: { companies: companies.map(toCompany) } };
}

function joinPath(path: string, key: string): string {
  if (!/^\w+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** A record of a file that may not match the schema. */
interface Item {
  readonly path: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const itemsOf = ({ path, value }: Item, key: string): Item[] => {
  const list = value[key];
  if (!Array.isArray(list)) return [];
  return list.map((item: unknown, index) => ({
    path: `${joinPath(path, key)}[${index}]`,
    value: isJsonObject(item) ? item : {},
  }));
};

const textOf = ({ value }: Item, key: string): string | undefined => {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : undefined;
};

/** The path at which each id occurs first. */
type FirstUses = Map<string, string>;

/** Finds ids that occur twice, and users with a branch or department that their company does not have. */
function findReferenceProblems(json: unknown): FileProblem[] {
  const problems: FileProblem[] = [];
  const requireUnique = (item: Item, key: string, firstUses: FirstUses) => {
    const [id, path] = [textOf(item, key), joinPath(item.path, key)];
    if (id === undefined) return;
    const firstUse = firstUses.get(id);
    if (firstUse === undefined) firstUses.set(id, path);
    else problems.push({ path, detail: `${JSON.stringify(id)} is used before, at ${firstUse}` });
  };

  const companyIds: FirstUses = new Map();
  const userIds: FirstUses = new Map();
  for (const company of itemsOf({ path: '', value: isJsonObject(json) ? json : {} }, 'companies')) {
    requireUnique(company, 'id', companyIds);
    const statusValues: FirstUses = new Map();
    for (const status of itemsOf(company, 'statuses')) requireUnique(status, 'value', statusValues);
    const branchIds: FirstUses = new Map();
    const departmentIds: FirstUses = new Map();
    const branchOfDepartment = new Map<string, string>();
    for (const branch of itemsOf(company, 'branches')) {
      requireUnique(branch, 'id', branchIds);
      for (const department of itemsOf(branch, 'departments')) {
        requireUnique(department, 'id', departmentIds);
        branchOfDepartment.set(textOf(department, 'id') ?? '', textOf(branch, 'id') ?? '');
      }
    }
    for (const user of itemsOf(company, 'users')) {
      requireUnique(user, 'id', userIds);
      problems.push(...findPlaceProblems(user, branchIds, branchOfDepartment));
    }
  }
  return problems;
}

function findPlaceProblems(
  user: Item,
  branchIds: ReadonlyMap<string, unknown>,
  branchOfDepartment: ReadonlyMap<string, string>,
): FileProblem[] {
  const problems: FileProblem[] = [];
  const report = (key: string, detail: string) => problems.push({ path: joinPath(user.path, key), detail });
  const level = textOf(user, 'accessLevel');
  const branchId = textOf(user, 'branchId');
  const departmentId = textOf(user, 'departmentId');
  if (level === 'BRANCH' && user.value['branchId'] == null)
    report('branchId', 'is needed for the access level BRANCH');
  if (level === 'DEPARTMENT' && user.value['departmentId'] == null)
    report('departmentId', 'is needed for the access level DEPARTMENT');
  const branchOfUser = branchOfDepartment.get(departmentId ?? '');
  if (departmentId !== undefined && branchOfUser === undefined)
    report(
      'departmentId',
      `${JSON.stringify(departmentId)} is not a department of this company in this file`,
    );
  if (branchId !== undefined && !branchIds.has(branchId))
    report('branchId', `${JSON.stringify(branchId)} is not a branch of this company in this file`);
  else if (branchId !== undefined && branchOfUser && branchId !== branchOfUser)
    report('branchId', `must be ${JSON.stringify(branchOfUser)}, the branch of the department`);
  return problems;
}

function toCompany({ id, name, statuses, branches = [], users = [] }: CompanyFile): Company {
  const branchOfDepartment = new Map(
    branches.flatMap((branch) => (branch.departments ?? []).map((department) => [department.id, branch.id])),
  );
  return {
    id,
    name,
    ...(statuses && { statuses }),
    branches: branches.map((branch) => ({ ...branch, departments: branch.departments ?? [] })),
    users: users.map((user) => toUser(user, branchOfDepartment)),
  };
}

/** Keeps the branch or department that the access level needs, and no other. */
function toUser(
  { branchId = null, departmentId = null, ...user }: UserFile,
  branchOfDepartment: ReadonlyMap<string, string>,
): UserInput {
  switch (user.accessLevel) {
    case 'COMPANY':
      return { ...user, branchId: null, departmentId: null };
    case 'BRANCH':
      return { ...user, branchId, departmentId: null };
    case 'DEPARTMENT':
      return { ...user, branchId: branchOfDepartment.get(departmentId ?? '') ?? null, departmentId };
  }
}
