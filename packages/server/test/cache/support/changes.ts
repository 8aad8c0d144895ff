import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Company, LeadInput, UserChanges } from 'leadtap';
import { type Model, type Real, USERS } from './model.ts';

interface Change {
  readonly text: string;
  readonly apply: (model: Model, real: Real) => Promise<unknown>;
}

const change = (text: string, apply: Change['apply']): Change => ({ text, apply });

export async function write({ writer }: Real, model: Model, leads: readonly LeadInput[], historical = false) {
  const outcome = await writer.writeLeads(leads, { historical });
  assert(outcome.kind === 'written');
  for (const result of outcome.results) {
    assert(result.kind !== 'rejected');
    if (result.kind === 'added') model.leads.push(result);
  }
}

async function apply({ writer }: Real, model: Model, changes: Partial<Company>) {
  model.company = { ...model.company, ...changes };
  // Without the users: those who were removed would be added again.
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
export const userName = fc.constantFrom(...USERS);
export const index = fc.nat({ max: 1000 });

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

/** Beside a lead that is there, or before all that begins in 1970. */
const addsHistory = fc
  .tuple(fc.integer({ min: -5, max: 5 }), fc.option(index), place)
  .map(([offset, beside, where]) =>
    change(`add history ${offset} ms beside #${beside} ${JSON.stringify(where)}`, (model, real) => {
      const around = beside === null ? Date.UTC(1960) : model.lead(beside)?.createdAt;
      const createdAt = (around ?? Date.UTC(2020)) + offset;
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

export const CHANGES = fc.oneof(
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
