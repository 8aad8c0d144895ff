import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CHANGES, index, userName, write } from './changes.ts';
import { tokenOf } from './instances.ts';
import { type Model, type Real, USERS, type UserName } from './model.ts';

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

/** The page that shows most changes. */
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

/** All instances have cached an answer; something changes; all answer as an instance without a cache does. */
export const commands = fc.tuple(aPoll, CHANGES, fc.boolean()).map(
  ([poll, { text, apply }, asksForNewest]): fc.AsyncCommand<Model, Real> => ({
    check: () => true,
    toString: () => `${poll.text}${asksForNewest ? ' and for the newest' : ''}, before and after: ${text}`,
    run: async (model, real) => {
      const credentials = poll.credentials(model);
      const queries = [poll.query(model), ...(asksForNewest ? [NEWEST] : [])];
      for (const query of queries)
        for (const instance of real.instances) await instance.poll(credentials, query);
      await apply(model, real);
      for (const query of queries) {
        const expected = await real.reference.poll(credentials, query);
        for (const instance of real.instances)
          assert.deepEqual(await instance.poll(credentials, query), expected);
      }
    },
  }),
);

/** A company with some leads. The instances have cached its users and nothing else. */
export async function begin(model: Model, real: Real): Promise<void> {
  const { companyId, company } = model;
  await real.writer.applyOrganisation({ companies: [company] });
  const places = [{}, { branchId: 'south' }, { departmentId: 'sales' }];
  await write(
    real,
    model,
    places.map((where) => ({ companyId, fields: {}, ...where })),
  );
  // Twice, because the first revalidation of a process invalidates everything.
  for (const instance of real.instances)
    for (const who of [...USERS, ...USERS])
      await instance.poll(tokenOf(model.userId(who), `first-${model.userId(who)}`), IN_THE_FUTURE);
}
