import type { Change } from '../store.ts';
import type { Connection } from './connection.ts';

interface ChangeRow extends Change {
  readonly seq: number;
  readonly mark: string;
}

/** What is new in the log of changes, and how far it has been read. */
export interface ChangesRead {
  readonly seen: string;
  readonly changes: readonly Change[] | undefined;
}

/** More than that are not worth telling one by one. */
const AT_MOST = 1000;

const NONE: readonly Change[] = [];

/** The entry up to which a process has read. */
const nameOf = ({ seq, mark }: ChangeRow): string => `${seq} ${mark}`;

/** Prepares the reading of what has changed. */
export function prepareChanges(connection: Connection): (known: string | undefined) => ChangesRead {
  const from = connection.prepare<ChangeRow>(
    `SELECT seq, kind, id, mark FROM changes WHERE seq >= ? ORDER BY seq LIMIT ${AT_MOST + 2}`,
  );
  const newest = connection.prepare<ChangeRow>(
    'SELECT seq, kind, id, mark FROM changes ORDER BY seq DESC LIMIT 1',
  );
  const readFrom = (known: string): ChangesRead | undefined => {
    const [first, ...changes] = from.all(Number.parseInt(known, 10));
    // If the entry itself is gone, so may be some that came after it.
    if (!first || nameOf(first) !== known || changes.length > AT_MOST) return undefined;
    return { seen: nameOf(changes.at(-1) ?? first), changes };
  };
  const read = (known: string | undefined): ChangesRead => {
    const changesRead = known === undefined ? undefined : readFrom(known);
    if (changesRead) return changesRead;
    const last = newest.get();
    return { seen: last ? nameOf(last) : '', changes: undefined };
  };
  let last: { readonly version: string; readonly seen: string } | undefined;
  return (known) => {
    // Taken first: what changes after it is read the next time.
    const version = connection.version();
    if (version === last?.version && known === last.seen) return { seen: known, changes: NONE };
    // What is known from before this connection may be from a file that was replaced.
    const changesRead = read(last && known);
    last = { version, seen: changesRead.seen };
    return changesRead;
  };
}
