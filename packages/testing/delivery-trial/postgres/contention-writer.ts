import { type Actor, PLACES } from '../actor.ts';
import type { Random } from '../random.ts';
import { SqlSession } from './session.ts';
import type { SqlTransaction } from './transaction.ts';

/** Few, so that transactions wait for each other. */
export const CONTENDED_IDS = ['contended-1', 'contended-2', 'contended-3', 'contended-4'] as const;

/** Several of these delete, insert, update and move the same few leads at the same time. */
export const contentionWriter = (url: string, name: string, companyIds: readonly string[]): Actor => ({
  name: 'SQL writers on the same leads',
  run: async ({ recorder, random, goesOn, pause }) => {
    const session = new SqlSession({ url, name, recorder });
    for (let done = 0; goesOn(done); done += 1) {
      const companyId = companyIds[random.below(companyIds.length)] ?? '';
      const id = random.pick(...CONTENDED_IDS);
      await session.transaction(
        random.chance(90) ? 'READ COMMITTED' : random.pick('REPEATABLE READ', 'SERIALIZABLE'),
        async (transaction) => {
          await change(transaction, random, companyId, id);
          await transaction.sleep(random.pick(0, 3, 8));
        },
        random.chance(90) ? 'commit' : random.pick('roll back', 'two-phase commit', 'cut off'),
      );
      await pause(random.below(30));
    }
    await session.close();
  },
});

async function change(
  transaction: SqlTransaction,
  random: Random,
  companyId: string,
  id: string,
): Promise<void> {
  const what = random.pick('delete', 'delete', 'insert', 'insert', 'insert', 'update', 'move');
  if (what === 'delete') await transaction.delete(companyId, id);
  else if (what === 'insert') await transaction.insert(companyId, [id], random.pick(...PLACES));
  else await transaction.update(companyId, id, what === 'move' ? random.pick(...PLACES) : undefined);
}
