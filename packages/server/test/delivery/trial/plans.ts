/** What the programs of an operator do to the table of leads, made up at random. */
import fc from 'fast-check';

export interface InsertPlan {
  /** One INSERT of one or more rows, an INSERT … SELECT, or a COPY. */
  readonly form: 'values' | 'select' | 'copy';
  readonly rows: number;
  readonly place: Place;
  /** Taken for a while, then undone or kept as a part of the transaction. */
  readonly savepoint: 'none' | 'rolled back' | 'released';
  /** The database does nothing for so long afterwards. */
  readonly pauseMs: number;
}

/** A department is enough: the branch is taken from it. */
export type Place =
  | { readonly branchId: null; readonly departmentId: null }
  | { readonly branchId: string; readonly departmentId: string | null };

export interface TransactionPlan {
  readonly isolation: 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
  /** Numbers of companies, rising, so that two transactions never wait for each other. */
  readonly companies: readonly number[];
  readonly inserts: readonly InsertPlan[];
  /** Also inserts a lead again that is there already, which is an update. */
  readonly again: boolean;
  readonly end: 'commit' | 'roll back' | 'cut off';
}

const often = <T>(usual: T, ...others: { readonly value: T; readonly weight: number }[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 100 - others.reduce((sum, { weight }) => sum + weight, 0), arbitrary: fc.constant(usual) },
    ...others.map(({ value, weight }) => ({ weight, arbitrary: fc.constant(value) })),
  );

const rows = fc.oneof(
  { weight: 70, arbitrary: fc.constant(1) },
  { weight: 25, arbitrary: fc.integer({ min: 2, max: 9 }) },
  // More than a page holds.
  { weight: 5, arbitrary: fc.integer({ min: 101, max: 130 }) },
);

const pauseMs = fc.oneof(
  { weight: 50, arbitrary: fc.constant(0) },
  { weight: 45, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 5, arbitrary: fc.integer({ min: 30, max: 60 }) },
);

const insert: fc.Arbitrary<InsertPlan> = fc.record({
  form: fc.constantFrom<InsertPlan['form'][]>('values', 'select', 'copy'),
  rows,
  place: fc.constantFrom<Place[]>(
    { branchId: null, departmentId: null },
    { branchId: 'south', departmentId: null },
    { branchId: 'north', departmentId: null },
    { branchId: 'north', departmentId: 'service' },
    { branchId: 'north', departmentId: 'sales' },
  ),
  savepoint: often<InsertPlan['savepoint']>(
    'none',
    { value: 'rolled back', weight: 15 },
    { value: 'released', weight: 10 },
  ),
  pauseMs,
});

const transaction = (companies: number): fc.Arbitrary<TransactionPlan> =>
  fc.record({
    isolation: often<TransactionPlan['isolation']>(
      'READ COMMITTED',
      { value: 'REPEATABLE READ', weight: 8 },
      { value: 'SERIALIZABLE', weight: 4 },
    ),
    companies: fc
      .uniqueArray(fc.nat({ max: companies - 1 }), { minLength: 1, maxLength: 2 })
      .map((numbers) => numbers.sort((a, b) => a - b)),
    inserts: fc.array(insert, { minLength: 1, maxLength: 2 }),
    again: often(false, { value: true, weight: 15 }),
    end: often<TransactionPlan['end']>(
      'commit',
      { value: 'roll back', weight: 10 },
      { value: 'cut off', weight: 4 },
    ),
  });

const CHUNK = 50;

/** The same seed gives the same transactions, as many as are asked for. */
export function* makePlans(seed: number, companies: number): Generator<TransactionPlan, never> {
  for (let chunk = 0; ; chunk += 1)
    yield* fc.sample(transaction(companies), { seed: seed * 1_000_003 + chunk, numRuns: CHUNK });
}
