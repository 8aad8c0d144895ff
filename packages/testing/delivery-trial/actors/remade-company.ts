import type { Organisation, Store } from 'leadtap';
import { type Actor, PLACES } from '../actor.ts';
import { writeThrough } from './package-writer.ts';

export interface RemadeCompanyOptions {
  readonly companyId: string;
  /** The company alone, as `org apply` would make it. */
  readonly organisation: Organisation;
  /** Leads that one batch adds, so that their stamps run ahead of the clock. */
  readonly burst: number;
  openStore(): Promise<Store>;
  /** Deletes the company and all that belongs to it in one transaction. Gives the ids of its leads. */
  deleteCompany(companyId: string, beforeCommit: (ids: readonly string[]) => () => void): Promise<void>;
  /** Settles when all its clients have polled. */
  pollOnce(): Promise<void>;
}

/** A company gets a burst of leads, is deleted, and made again with the same id. Clients that follow it lose nothing. */
export const remadeCompany = (options: RemadeCompanyOptions): Actor => ({
  name: 'company deleted and made again',
  run: async ({ recorder, random, goesOn, pause }) => {
    const { companyId, organisation, burst } = options;
    const store = await options.openStore();
    const add = (count: number) => {
      const leads = Array.from({ length: count }, () => {
        return { companyId, id: `remade-${recorder.next()}`, ...random.pick(...PLACES) };
      });
      return writeThrough(store, recorder, leads, { name: 'remade' });
    };
    for (let done = 0; goesOn(done); done += 1) {
      await add(burst);
      await options.pollOnce();
      await options.deleteCompany(companyId, (ids) => {
        const commit = recorder.commit(ids.map((id) => ({ companyId, id, state: undefined })));
        return () => commit.acknowledge();
      });
      await store.applyOrganisation(organisation);
      await add(3);
      recorder.count('companies deleted and made again');
      await pause(500);
    }
    await store.close();
  },
});
