import type { Store } from 'leadtap';
import { type PlacedLead, writeThrough } from '../actors/package-writer.ts';
import type { Trial } from '../trial.ts';
import { beginImmediate, type SqliteDatabase, withDatabase } from './database.ts';
import { commitChanges, deleteLead, updateLead } from './statements.ts';

export interface FileScene {
  readonly file: string;
  readonly companyId: string;
  readonly trial: Trial;
  readonly store: Store;
}

/** A lead is changed, moved, deleted and inserted again, and all clients poll after each commit. */
export async function changeAndPollFile({ file, companyId, trial, store }: FileScene): Promise<void> {
  const { recorder } = trial;
  const poll = () => trial.pollOnce(({ scope }) => scope.companyId === companyId);
  const id = `changed-${recorder.next()}`;
  const lead: PlacedLead = { companyId, id, branchId: 'north', departmentId: 'sales' };
  const insert = () => writeThrough(store, recorder, [lead], { name: 'changing' });
  const version = () => `changing.${recorder.next()}`;
  await insert();
  await poll();
  const steps = [
    (database: SqliteDatabase) => updateLead(database, companyId, id, version()),
    (database: SqliteDatabase) =>
      updateLead(database, companyId, id, version(), { branchId: 'south', departmentId: null }),
    (database: SqliteDatabase) => updateLead(database, companyId, id, version(), lead),
    (database: SqliteDatabase) => deleteLead(database, companyId, id),
  ];
  await withDatabase(file, async (database) => {
    for (const step of steps) {
      await beginImmediate(database);
      const change = step(database);
      commitChanges(database, recorder, change ? [change] : []);
      await poll();
    }
  });
  await insert();
  await poll();
}

/** A program holds a deletion open while the same id is written through the package, then commits. */
export async function reinsertDuringDeleteInFile(scene: FileScene): Promise<void> {
  const { file, companyId, trial, store } = scene;
  const { recorder } = trial;
  const poll = () => trial.pollOnce(({ scope }) => scope.companyId === companyId);
  const lead: PlacedLead = {
    companyId,
    id: `reinserted-${recorder.next()}`,
    branchId: 'north',
    departmentId: 'sales',
  };
  const insert = () => writeThrough(store, recorder, [lead], { name: 'reinserting' });
  await insert();
  await poll();
  await withDatabase(file, async (database) => {
    await beginImmediate(database);
    const change = deleteLead(database, companyId, lead.id);
    const inserted = insert();
    commitChanges(database, recorder, change ? [change] : []);
    await inserted;
  });
  await poll();
}
