/** The organisation file: companies with their places, statuses and users, checked as a whole. */
import type {
  AccessLevel,
  Branch,
  Company,
  Department,
  Organisation,
  Status,
  User,
  UserInput,
} from '../store/records.ts';
import { JsonPart, type JsonProblem } from './json-part.ts';

export type ParsedOrganisation =
  | { readonly kind: 'ok'; readonly organisation: Organisation }
  | { readonly kind: 'invalid'; readonly problems: readonly JsonProblem[] };

export const ACCESS_LEVELS = ['COMPANY', 'BRANCH', 'DEPARTMENT'] as const satisfies readonly AccessLevel[];

/** How plans and statuses are written. */
export const UPPER_CASE_WORD = /^[A-Z][A-Z0-9_]{0,63}$/;

export const PLAN_EXAMPLE = 'an upper-case word, such as PROFESSIONAL';

export const MAX_TEXT = 200;

/** Where each id was used first, so that a second use can point to it. */
type FirstUse = Map<string, string>;

/** The places of one company, for its users to stand in. */
interface Places {
  readonly branchIds: FirstUse;
  readonly departmentIds: FirstUse;
  readonly branchOfDepartment: Map<string, string>;
}

export function parseOrganisation(json: unknown): ParsedOrganisation {
  const problems: JsonProblem[] = [];
  const file = new JsonPart(json ?? null, '', problems);
  file.keys(['companies'], []);
  const companyIds: FirstUse = new Map();
  const userIds: FirstUse = new Map();
  const companies = file
    .at('companies')
    .items()
    .map((part) => readCompany(part, companyIds, userIds));
  return problems.length === 0 ? { kind: 'ok', organisation: { companies } } : { kind: 'invalid', problems };
}

function readCompany(part: JsonPart, companyIds: FirstUse, userIds: FirstUse): Company {
  part.keys(['id', 'name'], ['statuses', 'branches', 'users']);
  const places: Places = { branchIds: new Map(), departmentIds: new Map(), branchOfDepartment: new Map() };
  return {
    id: readId(part.at('id'), companyIds),
    name: part.at('name').text(MAX_TEXT),
    ...(part.has('statuses') && { statuses: readStatuses(part.at('statuses')) }),
    branches: part
      .at('branches')
      .items()
      .map((branch) => readBranch(branch, places)),
    users: part
      .at('users')
      .items()
      .map((user) => readUser(user, places, userIds)),
  };
}

function readId(part: JsonPart, seen: FirstUse): string {
  const id = part.text(MAX_TEXT);
  noteSecondUse(part, id, seen);
  return id;
}

function noteSecondUse(part: JsonPart, value: string, seen: FirstUse): void {
  if (value === '') return;
  const first = seen.get(value);
  if (first === undefined) seen.set(value, part.path);
  else part.note(`${JSON.stringify(value)} is used before, at ${first}`);
}

function readStatuses(part: JsonPart): Status[] {
  const items = part.items();
  if (items.length === 0) part.note('must list at least one status; leave it out to keep the catalogue');
  const seen: FirstUse = new Map();
  return items.map((status) => readStatus(status, seen));
}

function readStatus(part: JsonPart, seen: FirstUse): Status {
  part.keys(['value', 'label', 'color', 'final'], []);
  const value = part.at('value').matching(UPPER_CASE_WORD, 'an upper-case word, such as NEW');
  noteSecondUse(part.at('value'), value, seen);
  return {
    value,
    label: part.at('label').text(MAX_TEXT),
    color: part.at('color').matching(/^#[0-9a-f]{6}$/i, 'a colour, such as #2563eb'),
    final: part.at('final').boolean(),
  };
}

function readBranch(part: JsonPart, places: Places): Branch {
  part.keys(['id', 'name'], ['departments']);
  const id = readId(part.at('id'), places.branchIds);
  const departments = part
    .at('departments')
    .items()
    .map((department) => readDepartment(department, id, places));
  return { id, name: part.at('name').text(MAX_TEXT), departments };
}

function readDepartment(part: JsonPart, branchId: string, places: Places): Department {
  part.keys(['id', 'name'], []);
  const id = readId(part.at('id'), places.departmentIds);
  if (!places.branchOfDepartment.has(id)) places.branchOfDepartment.set(id, branchId);
  return { id, name: part.at('name').text(MAX_TEXT) };
}

function readUser(part: JsonPart, places: Places, userIds: FirstUse): UserInput {
  part.keys(['id', 'plan', 'accessLevel'], ['email', 'name', 'branchId', 'departmentId']);
  const accessLevel = part.at('accessLevel').oneOf(ACCESS_LEVELS);
  return {
    id: readId(part.at('id'), userIds),
    ...(part.at('email').isThere && { email: part.at('email').isGiven ? part.at('email').email() : null }),
    ...(part.at('name').isThere && { name: part.at('name').textOrNull(MAX_TEXT) }),
    plan: part.at('plan').matching(UPPER_CASE_WORD, PLAN_EXAMPLE),
    accessLevel: accessLevel ?? 'COMPANY',
    ...readPlace(part, accessLevel, places),
  };
}

/** Every place that is given must be right; what is kept is the one that the access level speaks of. */
function readPlace(part: JsonPart, level: AccessLevel | undefined, places: Places): UserPlace {
  const branch = part.at('branchId');
  const department = part.at('departmentId');
  if (level === 'BRANCH' && !branch.isGiven) branch.note('is needed for the access level BRANCH');
  if (level === 'DEPARTMENT' && !department.isGiven)
    department.note('is needed for the access level DEPARTMENT');

  const departmentId = readReference(department, places.departmentIds, 'department');
  const branchId = readReference(branch, places.branchIds, 'branch');
  const branchOfDepartment = places.branchOfDepartment.get(departmentId ?? '') ?? null;
  if (branchId && branchOfDepartment && branchId !== branchOfDepartment)
    branch.note(`must be ${JSON.stringify(branchOfDepartment)}, the branch of the department`);

  if (level === 'DEPARTMENT') return { branchId: branchOfDepartment, departmentId };
  return { branchId: level === 'BRANCH' ? branchId : null, departmentId: null };
}

type UserPlace = Pick<User, 'branchId' | 'departmentId'>;

function readReference(part: JsonPart, known: FirstUse, what: string): string | null {
  const id = part.textOrNull(MAX_TEXT);
  if (id && !known.has(id)) part.note(`${JSON.stringify(id)} is not a ${what} of this company in this file`);
  return id;
}
