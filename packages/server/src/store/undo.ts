/** Ends the work of a transaction with a result, and undoes all that it wrote. */
export type Undo<T> = (result: T) => never;

/** Carries a result out of a transaction that is rolled back. */
export class Undone extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('rolled back');
    this.result = result;
  }
}

export const undo = (result: unknown): never => {
  throw new Undone(result);
};
