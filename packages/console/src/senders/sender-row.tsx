import type { Sender } from '@leadtap/contract';
import type { JSX } from 'preact';
import { DiagnosisRow } from '../diagnosis/rows.tsx';
import { logHref } from '../log/href.ts';
import { visible } from '../text.tsx';
import { Time } from '../time.tsx';

export const nameOfSender = ({ name, tokenId }: Sender): string =>
  name === null ? (tokenId ?? 'Tokens without an id') : visible(name);

interface SenderRowProps {
  readonly sender: Sender;
  /** When the service answered. */
  readonly now: number;
  readonly isOpen: boolean;
}

/** A problem is beside the time of the last lead, which the message of a sender without one has. */
export function SenderRow({ sender, now, isOpen }: SenderRowProps): JSX.Element {
  const { id, lastAcceptedAt, fix, last24h } = sender;
  return (
    <DiagnosisRow
      {...sender}
      label={<bdi>{nameOfSender(sender)}</bdi>}
      href={logHref('senders', id)}
      hours={last24h}
      now={now}
      isOpen={isOpen}
    >
      {fix !== null && lastAcceptedAt !== null && (
        <span class="soft">
          Last lead <Time at={lastAcceptedAt} />
        </span>
      )}
    </DiagnosisRow>
  );
}
