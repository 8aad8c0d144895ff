import type { ChangeTrackingStore, Store } from 'leadtap';

/** Runs the test's work before each of these calls of the store: it can delay them, or fail in their place. Returns what ends it. */
export function beforeQuestion(
  { changeTracking }: Store,
  question: keyof ChangeTrackingStore,
  before: () => Promise<void>,
): () => void {
  const { revalidate, readLeads } = changeTracking;
  if (question === 'revalidate')
    changeTracking.revalidate = async (...args) => {
      await before();
      return revalidate.apply(changeTracking, args);
    };
  else
    changeTracking.readLeads = async (...args) => {
      await before();
      return readLeads.apply(changeTracking, args);
    };
  return () => Object.assign(changeTracking, { revalidate, readLeads });
}
