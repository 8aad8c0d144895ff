import { SENDERS_PATH, type Sender, type Senders } from '@leadtap/contract';
import type { JSX } from 'preact';
import { DiagnosisRow } from '../consumers/consumer-row.tsx';
import { createPolledList } from '../polled-list.ts';
import { visible } from '../text.tsx';
import { Time } from '../time.tsx';

const isSenders = (body: unknown): body is Senders =>
  typeof body === 'object' && body !== null && 'senders' in body && Array.isArray(body.senders);

const list = createPolledList(() => SENDERS_PATH, isSenders);

/** While the service accepts leads over HTTP: who sends, what was refused of it, and what to do. */
export function LeadsIn({ intervalMs }: { readonly intervalMs: number | undefined }): JSX.Element | null {
  list.use(intervalMs);
  const state = list.state.value;
  if (state.kind !== 'listed') return null;
  return (
    <section aria-labelledby="leads-in">
      <h2 id="leads-in">Leads in</h2>
      {state.senders.length === 0 ? (
        <p class="soft">No lead has come in over HTTP yet.</p>
      ) : (
        <ul class="consumers">
          {state.senders.map((sender) => (
            <SenderRow key={sender.id} sender={sender} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** A problem is beside the time of the last lead, which the message of a sender without one has. */
function SenderRow({ sender }: { readonly sender: Sender }): JSX.Element {
  const { name, tokenId, lastAcceptedAt, fix } = sender;
  return (
    <DiagnosisRow
      {...sender}
      name={name === null ? (tokenId ?? 'Tokens without an id') : <bdi>{visible(name)}</bdi>}
    >
      {fix !== null && lastAcceptedAt !== null && (
        <span class="soft">
          Last lead <Time at={lastAcceptedAt} />
        </span>
      )}
    </DiagnosisRow>
  );
}
