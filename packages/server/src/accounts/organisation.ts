/**
 * The organisation file: companies with their branches, departments, statuses and users. Only `org apply` loads this module:
 * TypeBox and its compiler take 0.3 s to load, longer than any other command needs.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Settings } from 'typebox/system';
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
import type { Company, Organisation, UserInput } from './records.ts';

/** A mistake at one place of the file. */
export interface FileProblem {
  /** Such as `companies[0].users[2].plan`; empty for the file as a whole. */
  readonly path: string;
  readonly detail: string;
}

export type ParsedOrganisation =
  | { readonly kind: 'ok'; readonly organisation: Organisation }
  | { readonly kind: 'invalid'; readonly problems: readonly FileProblem[] };

const stringWith = (findProblem: FindProblem) =>
  Type.Refine(
    Type.String(),
    (text) => findProblem(text) === undefined,
    (text) => findProblem(text) ?? '',
  );
const nullableWith = (findProblem: FindProblem) =>
  Type.Refine(
    Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    (text) => text === null || findProblem(text) === undefined,
    (text) => findProblem(text ?? '') ?? '',
  );
const record = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });

const text = stringWith((value) => findTextProblem(value));
const nullableText = nullableWith((value) => findTextProblem(value));

const StatusSchema = record({
  value: stringWith(findStatusProblem),
  label: text,
  color: stringWith(findColorProblem),
  final: Type.Boolean(),
});

const BranchSchema = record({
  id: text,
  name: text,
  departments: Type.Optional(Type.Array(record({ id: text, name: text }))),
});

const UserSchema = record({
  id: text,
  plan: stringWith(findPlanProblem),
  accessLevel: Type.Enum([...ACCESS_LEVELS]),
  email: Type.Optional(nullableWith(findEmailProblem)),
  name: Type.Optional(nullableText),
  branchId: Type.Optional(nullableText),
  departmentId: Type.Optional(nullableText),
});

const CompanySchema = record({
  id: text,
  name: text,
  statuses: Type.Optional(Type.Array(StatusSchema, { minItems: 1 })),
  branches: Type.Optional(Type.Array(BranchSchema)),
  users: Type.Optional(Type.Array(UserSchema)),
});

const FileSchema = record({ companies: Type.Array(CompanySchema) });

type CompanyFile = Static<typeof CompanySchema>;
type UserFile = Static<typeof UserSchema>;

/** Checks the whole file, so that all mistakes are reported together. */
export function parseOrganisation(json: unknown): ParsedOrganisation {
  const problems = [...findSchemaProblems(json), ...findReferenceProblems(json)];
  if (problems.length > 0) return { kind: 'invalid', problems };
  const { companies } = json as Static<typeof FileSchema>;
  return { kind: 'ok', organisation: { companies: companies.map(toCompany) } };
}

/** By default TypeBox stops after 8. */
const MAX_PROBLEMS = 1000;

function findSchemaProblems(json: unknown): FileProblem[] {
  Settings.Set({ maxErrors: MAX_PROBLEMS });
  const validator = Compile(FileSchema);
  // `Check` takes 2 µs for a user, `Errors` takes 90.
  if (validator.Check(json)) return [];
  return validator.Errors(json).flatMap((error) => {
    const path = toPath(error.instancePath);
    switch (error.keyword) {
      case 'required':
        return error.params.requiredProperties.map((key) => ({
          path: joinPath(path, key),
          detail: 'is missing',
        }));
      case 'additionalProperties': {
        const known = Object.keys(propertiesAt(error.schemaPath)).join(', ');
        return error.params.additionalProperties.map((key) => ({
          path: joinPath(path, key),
          detail: `is not known here; known are ${known}`,
        }));
      }
      case 'type':
        return [{ path, detail: `must be ${TYPE_NAMES[String(error.params.type)] ?? 'a string'}` }];
      case 'enum':
        return [{ path, detail: `must be one of ${error.params.allowedValues.join(', ')}` }];
      case 'minItems':
        return [{ path, detail: 'must list at least one status; leave it out to keep the catalogue' }];
      case '~refine':
        return [{ path, detail: error.message }];
      default:
        // `additionalProperties` reports each unknown key a second time as a schema that is false.
        return [];
    }
  });
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'an array',
  boolean: 'true or false',
};

function propertiesAt(schemaPath: string): object {
  let schema: unknown = FileSchema;
  for (const key of schemaPath.split('/').slice(1)) schema = isJsonObject(schema) ? schema[key] : undefined;
  return isJsonObject(schema) && isJsonObject(schema['properties']) ? schema['properties'] : {};
}

/** A JSON pointer, as `companies[0].name`. */
const toPath = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : joinPath(path, step)), '');

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
