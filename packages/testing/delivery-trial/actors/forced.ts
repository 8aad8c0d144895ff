/** Forced orders of events that both stores must survive. */
import type { Organisation, Store } from 'leadtap';
import type { Trial } from '../trial.ts';
import { writeThrough } from './package-writer.ts';

const HOUR_MS = 3_600_000;
const PLACE = { branchId: 'north', departmentId: 'sales' };

export interface SteppedScene {
  readonly trial: Trial;
  readonly companyId: string;
  readonly store: Store;
  setClockOffset(offsetMs: number): Promise<void>;
}

/** Clients poll an empty feed; the clock is set back by an hour; then the first leads come. */
export async function setClockBackOnEmptyFeed(scene: SteppedScene): Promise<void> {
  const { trial, companyId, store, setClockOffset } = scene;
  const poll = () => trial.pollOnce(({ scope }) => scope.companyId === companyId);
  await poll();
  trial.recorder.clockStepped(-HOUR_MS);
  await setClockOffset(-HOUR_MS);
  for (let count = 0; count < 3; count += 1) {
    const id = `after-step-${trial.recorder.next()}`;
    await writeThrough(store, trial.recorder, [{ companyId, id, ...PLACE }], { name: 'after-step' });
    await poll();
  }
  await setClockOffset(0);
}

export interface RemakeScene extends SteppedScene {
  /** The company alone, as `org apply` would make it. */
  readonly organisation: Organisation;
  deleteCompany(companyId: string, beforeCommit: (ids: readonly string[]) => () => void): Promise<void>;
}

/** A company whose stamps are an hour ahead of the clock is deleted and made again; then leads come. */
export async function remakeCompanyWithLateStamps(scene: RemakeScene): Promise<void> {
  const { trial, companyId, store, setClockOffset, deleteCompany, organisation } = scene;
  const { recorder } = trial;
  const poll = () => trial.pollOnce(({ scope }) => scope.companyId === companyId);
  const add = async () => {
    const id = `late-${recorder.next()}`;
    await writeThrough(store, recorder, [{ companyId, id, ...PLACE }], { name: 'late' });
    await poll();
  };
  await setClockOffset(HOUR_MS);
  await add();
  recorder.clockStepped(-HOUR_MS);
  await setClockOffset(0);
  await deleteCompany(companyId, (ids) => {
    const commit = recorder.commit(ids.map((id) => ({ companyId, id, state: undefined })));
    return () => commit.acknowledge();
  });
  await store.applyOrganisation(organisation);
  await add();
  await add();
}
