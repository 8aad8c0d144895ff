import type { Store } from 'leadtap';
import { type Actor, ALL_PLACES } from '../actor.ts';
import type { Trial } from '../trial.ts';
import { SqlSession } from './session.ts';
import { withClient } from './with-client.ts';

export interface CopyScene {
  readonly url: string;
  readonly companyId: string;
  readonly otherCompanyId: string;
  readonly trial: Trial;
  readonly store: Store;
}

/** Sorts after the source, so that their locks are always taken in the same order. */
export const COPIED = { source: 'copied', target: 'copied-archive' } as const;

const makeTrigger = (source: string, target: string) => `
  CREATE FUNCTION public.copy_lead() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    copy leadtap.leads := NEW;
  BEGIN
    copy.company_id := '${target}';
    copy.branch_id := NULL;
    copy.department_id := NULL;
    INSERT INTO leadtap.leads SELECT copy.*;
    RETURN NULL;
  END $$;
  CREATE TRIGGER copy_lead AFTER INSERT ON leadtap.leads FOR EACH ROW
    WHEN (NEW.company_id = '${source}') EXECUTE FUNCTION public.copy_lead();`;

/** The operator's own trigger: it copies the leads of one company into another. */
export const installCopyingTrigger = (
  url: string,
  source: string = COPIED.source,
  target: string = COPIED.target,
): Promise<unknown> => withClient(url, (client) => client.query(makeTrigger(source, target)));

/** Leads come through the package into a company whose leads a trigger copies, and all clients poll after each. */
export async function copyByTrigger({
  url,
  companyId,
  otherCompanyId,
  trial,
  store,
}: CopyScene): Promise<void> {
  const { recorder } = trial;
  await installCopyingTrigger(url, companyId, otherCompanyId);
  for (let round = 0; round < 3; round += 1) {
    const id = `copied-${recorder.next()}`;
    const state = { branchId: null, departmentId: null, version: `copied.${recorder.next()}` };
    const commit = recorder.commit([companyId, otherCompanyId].map((to) => ({ companyId: to, id, state })));
    await store.writeLeads([{ companyId, id, fields: { firstName: state.version } }]);
    commit.acknowledge();
    await trial.pollOnce();
  }
}

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
