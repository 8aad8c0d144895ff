import type { Change } from '../store.ts';

/** Undefined: anything may have changed. */
export type ChangeListener = (changes: readonly Change[] | undefined) => void;

/** The change log as held polls and webhook events read it. */
export interface ChangeSource {
  /** Reads the changes since the last call, by whatever poll, and reports them to the listeners before it resolves. */
  readChanges(): Promise<void>;
  onChanges(listener: ChangeListener): void;
}
