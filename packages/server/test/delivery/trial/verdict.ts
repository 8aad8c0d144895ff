import type { SeatedPoller } from './http-pollers.ts';
import type { Ledger } from './ledger.ts';
import { KINDS, type Kind } from './seats.ts';

export interface Evidence {
  readonly ledger: Ledger;
  readonly pollers: readonly SeatedPoller[];
  /** The ids that are in the table at the end. */
  readonly stored: ReadonlySet<string>;
  readonly broken: readonly string[];
}

export interface KindVerdict {
  readonly polls: number;
  readonly received: number;
  /** Over all pollers of the kind. */
  readonly lost: number;
  readonly repeated: number;
}

export interface Verdict {
  readonly leads: number;
  readonly undone: number;
  readonly transactions: Ledger['transactions'];
  readonly kinds: Readonly<Record<Kind, KindVerdict>>;
  /** A sentence for each promise that was broken otherwise. */
  readonly broken: readonly string[];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function judgeKind(pollers: readonly SeatedPoller[], { committed }: Ledger): KindVerdict {
  return {
    polls: sum(pollers.map(({ polls }) => polls)),
    received: sum(pollers.map(({ received }) => received.size)),
    lost: sum(pollers.map((poller) => poller.lost(committed).length)),
    repeated: sum(pollers.map(({ repeated }) => repeated.size)),
  };
}

export function judge({ ledger, pollers, stored, broken }: Evidence): Verdict {
  const kinds = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      judgeKind(
        pollers.filter(({ seat }) => seat.kind === kind),
        ledger,
      ),
    ]),
  ) as Record<Kind, KindVerdict>;
  const strange = pollers.flatMap((poller) =>
    poller
      .strange(ledger.committed)
      .map((id) => `${poller.seat.companyId} ${poller.seat.level} was shown ${id}`),
  );
  const vanished = [...ledger.committed.keys()].filter((id) => !stored.has(id));
  const risen = [...stored].filter((id) => !ledger.committed.has(id));
  return {
    leads: ledger.committed.size,
    undone: ledger.undone.size,
    transactions: ledger.transactions,
    kinds,
    broken: [
      ...broken,
      ...strange,
      ...vanished.map((id) => `${id} was committed and is not there`),
      ...risen.map((id) => `${id} was undone and is there`),
    ],
  };
}
