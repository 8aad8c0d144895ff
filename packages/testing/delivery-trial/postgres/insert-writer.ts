import { type Actor, type ActorContext, ALL_PLACES, PLACES } from '../actor.ts';
import type { Random } from '../random.ts';
import { type Isolation, type PlannedEnd, SqlSession } from './session.ts';
import type { InsertForm, SqlTransaction } from './transaction.ts';

interface OwnLead {
  readonly companyId: string;
  readonly id: string;
  isDeleted: boolean;
}

/** Above this the writer's own leads are left alone, so that not every poll reads everything again. */
const OWN_LEADS = 30;

/**
 * A program that inserts leads of its own, into one company or into several in the order of their ids, in all forms and
 * isolation levels; and updates, moves, deletes and inserts again what it has inserted before.
 */
export const insertWriter = (url: string, name: string, companyIds: readonly string[]): Actor => ({
  name: 'SQL writers',
  run: async (context) => {
    const session = new SqlSession({ url, name, recorder: context.recorder, isDeadlockFree: true });
    const own: OwnLead[] = [];
    for (let done = 0; context.goesOn(done); done += 1) await runOne(session, context, name, companyIds, own);
    await session.close();
  },
});

async function runOne(
  session: SqlSession,
  { random, recorder }: ActorContext,
  name: string,
  companyIds: readonly string[],
  own: OwnLead[],
): Promise<void> {
  const companies = companyIds.filter(() => random.chance(100 / companyIds.length)).toSorted();
  if (companies.length === 0) companies.push(random.pick(companyIds[0] ?? '', ...companyIds));
  const inserted: OwnLead[] = [];
  const flipped: OwnLead[] = [];
  const isCommitted = await session.transaction(
    isolationOf(random),
    async (transaction) => {
      for (const companyId of companies) {
        const ids = Array.from({ length: rowsOf(random) }, () => `${name}-${recorder.next()}`);
        const insert = () =>
          transaction.insert(
            companyId,
            ids,
            random.pick(...ALL_PLACES),
            random.pick<InsertForm>('values', 'select', 'copy'),
          );
        const isRolledBack = random.chance(50);
        if (random.chance(20)) await transaction.savepoint(isRolledBack, insert);
        else await insert();
        if (!(await isThere(transaction, companyId, ids[0]))) continue;
        inserted.push(...ids.slice(0, 1).map((id) => ({ companyId, id, isDeleted: false })));
        if (random.chance(40)) await changeOwn(transaction, random, own, companyId, flipped);
        await transaction.sleep(random.pick(0, 0, 0, 2, 9, 40));
      }
    },
    endOf(random),
  );
  if (!isCommitted) return;
  for (const lead of flipped) lead.isDeleted = !lead.isDeleted;
  if (own.length < OWN_LEADS) own.push(...inserted);
}

/** False after a savepoint was rolled back. */
async function isThere({ client }: SqlTransaction, companyId: string, id = ''): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM leadtap.leads WHERE company_id = $1 AND id = $2', [
    companyId,
    id,
  ]);
  return rowCount === 1;
}

/** In a company whose lock the transaction has, so that it waits for no other transaction. */
async function changeOwn(
  transaction: SqlTransaction,
  random: Random,
  own: readonly OwnLead[],
  companyId: string,
  flipped: OwnLead[],
): Promise<void> {
  const choices = own.filter((lead) => lead.companyId === companyId && !flipped.includes(lead));
  const lead = choices[random.below(choices.length)];
  if (!lead) return;
  const { id } = lead;
  if (lead.isDeleted || random.chance(25)) {
    if (!lead.isDeleted) await transaction.delete(companyId, id);
    // Gone for good, gone and inserted again at once, or inserted again after a while.
    if (lead.isDeleted || random.chance(50))
      await transaction.insert(companyId, [id], random.pick(...PLACES));
    if (lead.isDeleted || !(await isThere(transaction, companyId, id))) flipped.push(lead);
  } else if (random.chance(33)) await transaction.update(companyId, id);
  else if (random.chance(50)) await transaction.update(companyId, id, random.pick(...PLACES));
  else await transaction.insert(companyId, [id], random.pick(...PLACES));
}

/** Mostly one; now and then more than a page holds. */
function rowsOf(random: Random): number {
  if (random.chance(72)) return 1;
  return random.chance(90) ? 2 + random.below(8) : 101 + random.below(30);
}

function isolationOf(random: Random): Isolation {
  if (random.chance(86)) return 'READ COMMITTED';
  return random.pick('REPEATABLE READ', 'SERIALIZABLE');
}

function endOf(random: Random): PlannedEnd {
  if (random.chance(75)) return 'commit';
  return random.pick('roll back', 'cut off', 'two-phase commit', 'two-phase commit', 'two-phase rollback');
}
