import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Company, LeadInput, Store, UserChanges, UserInput } from 'leadtap';
import { type Instance, tokenOf } from './instances.ts';
import type { LeadSql } from './lead-sql.ts';

export interface Real {
  /** Those that remember. */
  readonly instances: readonly Instance[];
  /** Asks the store each time. */
  readonly reference: Instance;
  readonly writer: Store;
  readonly sql: LeadSql;
}

export const USERS = ['boss', 'north-lead', 'seller'] as const;
type UserName = (typeof USERS)[number];

/** What the commands know of the company that they change: its ids are its own in each run, so that runs share a database. */
export class Model {
  readonly companyId: string;
  readonly leads: { readonly id: string; readonly createdAt: number }[] = [];
  company: Company;

  constructor(run: number) {
    this.companyId = `company-${run}`;
    this.company = {
      id: this.companyId,
      name: 'Acme',
      statuses: [
        { value: 'NEW', label: 'New', color: '#000000', final: false },
        { value: 'WON', label: 'Won', color: '#000000', final: true },
      ],
      branches: [
        { id: 'north', name: 'North', departments: [{ id: 'sales', name: 'Sales' }] },
        { id: 'south', name: 'South', departments: [] },
      ],
      users: USERS.map((name) => this.user(name)),
    };
  }

  userId(name: UserName): string {
    return `${name}-of-${this.companyId}`;
  }

  user(name: UserName): UserInput {
    const accessLevel = name === 'boss' ? 'COMPANY' : name === 'seller' ? 'DEPARTMENT' : 'BRANCH';
    const place = { branchId: 'north', departmentId: 'sales' };
    return { id: this.userId(name), plan: 'PROFESSIONAL', accessLevel, ...place };
  }

  /** One of the leads; undefined when there is none. */
  lead(index: number) {
    return this.leads[index % Math.max(1, this.leads.length)];
  }
}

interface Change {
  readonly text: string;
  readonly happen: (model: Model, real: Real) => Promise<unknown>;
}

const change = (text: string, happen: Change['happen']): Change => ({ text, happen });

async function write({ writer }: Real, model: Model, leads: readonly LeadInput[], historical = false) {
  const outcome = await writer.writeLeads(leads, { historical });
  assert(outcome.kind === 'written');
  for (const result of outcome.results) {
    assert(result.kind !== 'rejected');
    if (result.kind === 'added') model.leads.push(result);
  }
}

async function apply({ writer }: Real, model: Model, changes: Partial<Company>) {
  model.company = { ...model.company, ...changes };
  // Users are not named again: those who are gone would come back.
  const outcome = await writer.applyOrganisation({ companies: [{ ...model.company, users: [] }] });
  assert.equal(outcome.kind, 'applied');
}

const place = fc.constantFrom<Partial<LeadInput>>(
  {},
  { branchId: 'north' },
  { branchId: 'south' },
  { departmentId: 'sales' },
);
/** A few, or more than a page, or more than are kept. */
const count = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(100, 210) },
);
const name = fc.constantFrom('Ada', 'Grace', 'Mary');
const userName = fc.constantFrom(...USERS);
const index = fc.nat({ max: 1000 });

const adds = fc.tuple(count, place).map(([many, where]) =>
  change(`add ${many} leads ${JSON.stringify(where)}`, (model, real) => {
    const { companyId } = model;
    return write(
      real,
      model,
      Array.from({ length: many }, () => ({ companyId, fields: {}, ...where })),
    );
  }),
);

const addsHistory = fc.tuple(fc.integer({ min: -5, max: 5 }), index, place).map(([before, at, where]) =>
  change(`add a lead ${before} ms before #${at} ${JSON.stringify(where)}`, (model, real) => {
    const createdAt = (model.lead(at)?.createdAt ?? Date.UTC(2020)) - before;
    return write(real, model, [{ companyId: model.companyId, createdAt, fields: {}, ...where }], true);
  }),
);

const update = fc.constantFrom<Partial<LeadInput>>(
  { fields: { firstName: 'Ada' } },
  { fields: { customFields: { budget: 1 } } },
  { statusValue: 'WON' },
  { branchId: 'south' },
  { branchId: 'north' },
  { departmentId: 'sales' },
);

const updates = fc.tuple(index, update).map(([at, changes]) =>
  change(`update lead #${at} ${JSON.stringify(changes)}`, async (model, real) => {
    const lead = model.lead(at);
    if (lead) await write(real, model, [{ companyId: model.companyId, id: lead.id, fields: {}, ...changes }]);
  }),
);

const renamesBySql = fc.tuple(index, name).map(([at, firstName]) =>
  change(`UPDATE lead #${at}: ${firstName}`, async (model, { sql }) => {
    const lead = model.lead(at);
    if (lead) await sql.rename(model.companyId, lead.id, firstName);
  }),
);

const deletes = index.map((at) =>
  change(`DELETE lead #${at}`, async (model, { sql }) => {
    const lead = model.lead(at);
    if (!lead) return;
    await sql.remove(model.companyId, lead.id);
    model.leads.splice(model.leads.indexOf(lead), 1);
  }),
);

const renamesCompany = name.map((to) =>
  change(`rename the company ${to}`, (model, real) => apply(real, model, { name: to })),
);

/** The branch north and its department. */
const renamesPlace = fc.constantFrom('branch', 'department').chain((which) =>
  name.map((to) =>
    change(`rename the ${which} ${to}`, (model, real) => {
      const [north] = model.company.branches;
      const [sales] = north?.departments ?? [];
      assert(north && sales);
      const departments = [which === 'department' ? { ...sales, name: to } : sales];
      const branch = { ...north, departments, ...(which === 'branch' && { name: to }) };
      return apply(real, model, { branches: [branch] });
    }),
  ),
);

const relabels = name.map((label) =>
  change(`label a status ${label}`, (model, real) =>
    apply(real, model, {
      statuses: model.company.statuses?.map((status) => ({ ...status, label })) ?? [],
    }),
  ),
);

const userChange = fc.constantFrom<UserChanges>(
  { plan: 'STARTER' },
  { plan: 'PROFESSIONAL' },
  { accessLevel: 'COMPANY' },
  { accessLevel: 'BRANCH', branchId: 'north' },
  { accessLevel: 'BRANCH', branchId: 'south', departmentId: null },
  { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'sales' },
);

const changesUser = fc
  .tuple(userName, userChange)
  .map(([who, changes]) =>
    change(
      `change ${who} ${JSON.stringify(changes)}`,
      async (model, { writer }) => void (await writer.updateUser(model.userId(who), changes)),
    ),
  );

const removesUser = userName.map((who) =>
  change(`remove ${who}`, async (model, { writer }) => void (await writer.removeUser(model.userId(who)))),
);

const addsUser = userName.map((who) =>
  change(`add ${who}`, async (model, { writer }) => {
    const company = { ...model.company, users: [model.user(who)] };
    await writer.applyOrganisation({ companies: [company] });
  }),
);

const revokes = userName.map((who) =>
  change(
    `revoke the token of ${who}`,
    async (model, { writer }) => void (await writer.revokeToken(`first-${model.userId(who)}`)),
  ),
);

const CHANGES = fc.oneof(
  fc.constant(change('nothing', async () => undefined)),
  adds,
  addsHistory,
  updates,
  renamesBySql,
  deletes,
  renamesCompany,
  renamesPlace,
  relabels,
  changesUser,
  removesUser,
  addsUser,
  revokes,
);

type Since = (model: Model) => number | undefined;
const since = fc.oneof(
  fc.constant<[string, Since]>(['none', () => undefined]),
  fc.constant<[string, Since]>(['before all', () => 0]),
  fc.constant<[string, Since]>(['the future', () => Date.UTC(2999)]),
  fc
    .tuple(index, fc.integer({ min: -1, max: 1 }))
    .map(([at, offset]): [string, Since] => [
      `#${at}${offset < 0 ? '' : '+'}${offset}`,
      (model) => (model.lead(at)?.createdAt ?? 0) + offset,
    ]),
);
const limit = fc.oneof(fc.constantFrom(1, 2, 3), fc.constant(100));

/** Shows most of what can change. */
const NEWEST = 'limit=100';

const IN_THE_FUTURE = 'since=2999-01-01T00:00:00Z';

const queryOf = (at: number | undefined, most: number): string =>
  `limit=${most}${at === undefined ? '' : `&since=${new Date(at).toISOString()}`}`;

interface Poll {
  readonly text: string;
  readonly credentials: (model: Model) => string;
  readonly query: (model: Model) => string;
}

const aPoll = fc
  .tuple(fc.oneof(fc.constant<UserName>('boss'), userName), fc.constantFrom('first', 'second'), since, limit)
  .map(
    ([who, token, [text, at], most]): Poll => ({
      text: `poll as ${who} since ${text}, limit ${most}`,
      credentials: (model) => tokenOf(model.userId(who), `${token}-${model.userId(who)}`),
      query: (model) => queryOf(at(model), most),
    }),
  );

/** All instances know an answer; something changes; all give the answer that the store would give. */
export const commands = fc.tuple(aPoll, CHANGES, fc.boolean()).map(
  ([poll, { text, happen }, asksForNewest]): fc.AsyncCommand<Model, Real> => ({
    check: () => true,
    toString: () => `${poll.text}${asksForNewest ? ' and for the newest' : ''}, before and after: ${text}`,
    run: async (model, real) => {
      const credentials = poll.credentials(model);
      const queries = [poll.query(model), ...(asksForNewest ? [NEWEST] : [])];
      for (const query of queries)
        for (const instance of real.instances) await instance.poll(credentials, query);
      await happen(model, real);
      for (const query of queries) {
        const expected = await real.reference.poll(credentials, query);
        for (const instance of real.instances)
          assert.deepEqual(await instance.poll(credentials, query), expected);
      }
    },
  }),
);

/** A company with some leads, of which no instance knows more than its users. */
export async function begin(model: Model, real: Real): Promise<void> {
  const { companyId, company } = model;
  await real.writer.applyOrganisation({ companies: [company] });
  const places = [{}, { branchId: 'south' }, { departmentId: 'sales' }];
  await write(
    real,
    model,
    places.map((where) => ({ companyId, fields: {}, ...where })),
  );
  // Twice, because the first look of a process forgets what it learned.
  for (const instance of real.instances)
    for (const who of [...USERS, ...USERS])
      await instance.poll(tokenOf(model.userId(who), `first-${model.userId(who)}`), IN_THE_FUTURE);
}
