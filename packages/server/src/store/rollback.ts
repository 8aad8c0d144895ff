/** Rolls back the transaction and makes it return this result. */
export type RollbackWith<T> = (result: T) => never;

/** Thrown by `rollbackWith`, and caught where the transaction was begun. */
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
