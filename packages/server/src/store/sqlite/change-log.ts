import type { Change, Revalidation } from '../../poll/store.ts';
import type { Connection } from './connection.ts';

interface ChangeRow extends Change {
  readonly seq: number;
  readonly mark: string;
}

export type ChangesRead = Pick<Revalidation, 'seen' | 'changes'>;

/** For more changes than this, discarding the whole cache is cheaper than applying them one by one. */
const MAX_CHANGES = 1000;

/** Prepares reading the entries of the change log after a position. */
export function prepareChangeLog(connection: Connection): (known: string | undefined) => ChangesRead {
  const positionAfter = ({ seq, mark }: ChangeRow): string => `${seq} ${mark}`;
  const from = connection.prepare<ChangeRow>(
    `SELECT seq, kind, id, mark FROM changes WHERE seq >= ? ORDER BY seq LIMIT ${MAX_CHANGES + 2}`,
  );
  const newest = connection.prepare<ChangeRow>(
    'SELECT seq, kind, id, mark FROM changes ORDER BY seq DESC LIMIT 1',
  );
  const readAfter = (known: string): ChangesRead | undefined => {
    const [first, ...changes] = from.all(Number.parseInt(known, 10));
    // If the entry itself was pruned, later ones may have been, too.
    if (!first || positionAfter(first) !== known || changes.length > MAX_CHANGES) return undefined;
    return { seen: positionAfter(changes.at(-1) ?? first), changes };
  };
  return (known) => {
    const read = known === undefined ? undefined : readAfter(known);
    if (read) return read;
    const last = newest.get();
    return { seen: last ? positionAfter(last) : '', changes: undefined };
  };
}
