import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { LeadInput, Store } from 'leadtap';
import type { ModelStore } from './model-store.ts';
import type { Poller } from './pollers.ts';
import type { SteppedClock } from './stepped-clock.ts';

export interface Real {
  readonly stores: readonly [Store, Store];
  readonly clock: SteppedClock;
  readonly pollers: { readonly lastLead: Poller; readonly date: Poller; readonly ids: Poller };
}

type Command = fc.AsyncCommand<ModelStore, Real>;
type PollerName = keyof Real['pollers'];

/** A step that is always possible. */
const step = (text: string, run: (model: ModelStore, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => text,
});

interface WriteParts {
  readonly createdAt?: number;
  readonly allowErased?: boolean;
}

async function write(
  store: Store,
  ids: readonly string[],
  firstName: string,
  { createdAt, allowErased = false }: WriteParts = {},
) {
  const leads = ids.map((id): LeadInput => {
    return { companyId: 'acme', id, fields: { firstName }, ...(createdAt !== undefined && { createdAt }) };
  });
  const outcome = await store.writeLeads(leads, { historical: createdAt !== undefined, allowErased });
  assert.equal(outcome.kind, 'written');
  return outcome.results;
}

/** Few ids, so that some are written again, and some twice in a batch. */
const ids = fc.array(
  fc.integer({ min: 1, max: 40 }).map((number) => `lead-${number}`),
  {
    minLength: 1,
    maxLength: 7,
  },
);
const firstName = fc.constantFrom('Ada', 'Grace', 'Mary');
const which = fc.constantFrom<0 | 1>(0, 1);
const pollerName = fc.constantFrom<PollerName>('lastLead', 'date', 'ids');
const forward = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 4000 }));

const writes = fc.tuple(which, ids, firstName).map(([index, leads, name]) =>
  step(`write ${leads} (${name})`, async (model, { stores }) => {
    await write(stores[index], leads, name);
    model.write(leads, name);
  }),
);

const writesHistory = fc
  .tuple(which, ids, firstName, fc.integer({ min: 0, max: 20 }))
  .map(([index, leads, name, ago]) =>
    step(`write history ${leads} of ${ago} s ago`, async (model, { stores, clock }) => {
      const createdAt = clock.now - ago * 1000;
      const results = await write(stores[index], leads, name, { createdAt });
      const written = results.filter((result) => result.kind !== 'rejected');
      model.writeHistory(leads, name, createdAt, new Map(written.map((lead) => [lead.id, lead.createdAt])));
    }),
  );

/** Of leads that exist, and of some that do not. The clients forget them, so that one that comes again is not a repetition. */
const erases = fc.tuple(which, ids).map(([index, leads]) =>
  step(`erase ${leads}`, async (model, { stores, pollers }) => {
    const removal = stores[index].removal;
    const found = await removal.findByIds(leads, 'acme');
    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(leads.filter((id) => model.leads.has(id))));
    assert.equal(await removal.erase(found), found.length);
    model.erase(found.map(({ id }) => id));
    for (const poller of Object.values(pollers)) for (const { id } of found) poller.forget(id);
  }),
);

const writesErased = fc.tuple(which, ids, firstName).map(([index, leads, name]) =>
  step(`write ${leads} (${name}), also erased ones`, async (model, { stores }) => {
    await write(stores[index], leads, name, { allowErased: true });
    model.allowErased(leads);
    model.write(leads, name);
  }),
);

const polls = pollerName.map((name) => step(`poll by ${name}`, (_, { pollers }) => pollers[name].poll()));

/** The poll begins when the writer has read the time, with the clock moved on, and the lead not yet committed. */
const pollsMeanwhile = fc.tuple(ids, pollerName, forward).map(([leads, name, ms]) =>
  step(
    `write ${leads} and meanwhile, ${ms} ms later, poll by ${name}`,
    async (model, { stores, clock, pollers }) => {
      let poll: Promise<void> | undefined;
      const before = clock.now;
      clock.afterNextRead(() => {
        clock.now += ms;
        poll = pollers[name].poll();
      });
      await write(stores[0], leads, 'Meanwhile');
      clock.cancelNextRead();
      await poll;
      clock.now = before;
      model.write(leads, 'Meanwhile');
      clock.now = before + ms;
    },
  ),
);

const movesClock = forward.map((ms) =>
  step(`${ms} ms pass`, async (_, { clock }) => {
    clock.now += ms;
  }),
);

/** The contract itself: everybody polls once more, and then nothing is missing. */
export async function compare(model: ModelStore, { stores, pollers }: Real): Promise<void> {
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  const { leads } = await stores[0].readPage({ scope, since: 0, limit: 10_000 });
  const held = leads.map(({ id, createdAt, firstName }) => ({ id, createdAt, firstName }));
  assert.deepEqual(held, model.list());
  for (const [name, poller] of Object.entries(pollers)) {
    await poller.poll();
    assert.deepEqual(poller.lost(model.news), [], `lost by ${name}`);
  }
  assert.deepEqual(pollers.lastLead.repeated, new Set());
}

const compares = fc.constant(step('compare with the model', compare));

const steps = [writes, writesHistory, erases, writesErased, polls, pollsMeanwhile, movesClock, compares];

export const commands = fc.commands(steps, {
  maxCommands: 40,
  size: 'max',
});
