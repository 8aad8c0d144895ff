/** Ends the work of a transaction with a result, and undoes all that it wrote. */
export type RollbackWith<T> = (result: T) => never;

/** Carries a result out of a transaction that is rolled back. */
export class RollbackResult extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('rolled back');
    this.result = result;
  }
}

export const rollbackWith = (result: unknown): never => {
  throw new RollbackResult(result);
};
