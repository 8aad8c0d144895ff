import { type Actor, ALL_PLACES } from '../actor.ts';
import { SqlSession } from './session.ts';
import { withClient } from './with-client.ts';

/** Sorts after the source, so that their locks are always taken in the same order. */
export const COPIED = { source: 'copied', target: 'copied-archive' } as const;

const TRIGGER = `
  CREATE FUNCTION public.copy_lead() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    copy leadtap.leads := NEW;
  BEGIN
    copy.company_id := '${COPIED.target}';
    copy.branch_id := NULL;
    copy.department_id := NULL;
    INSERT INTO leadtap.leads SELECT copy.*;
    RETURN NULL;
  END $$;
  CREATE TRIGGER copy_lead AFTER INSERT ON leadtap.leads FOR EACH ROW
    WHEN (NEW.company_id = '${COPIED.source}') EXECUTE FUNCTION public.copy_lead();`;

/** The operator's own trigger: it copies the leads of one company into another. */
export const installCopyingTrigger = (url: string): Promise<unknown> =>
  withClient(url, (client) => client.query(TRIGGER));

/** Inserts into the company whose leads are copied. */
export const copiedWriter = (url: string): Actor => ({
  name: 'SQL writers under a copying trigger',
  run: async ({ recorder, random, goesOn, pause }) => {
    const session = new SqlSession({ url, name: 'copied', recorder });
    for (let done = 0; goesOn(done); done += 1) {
      await session.transaction('READ COMMITTED', async (transaction) => {
        const id = `copied-${recorder.next()}`;
        await transaction.insert(COPIED.source, [id], random.pick(...ALL_PLACES));
        const version = transaction.versionOf(COPIED.source, id);
        transaction.put(COPIED.target, id, { branchId: null, departmentId: null, version });
      });
      await pause(random.below(60));
    }
    await session.close();
  },
});
