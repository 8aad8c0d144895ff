import { UNASSIGNED_ID } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ConnectionRow } from '../connections/connection-row.tsx';
import {
  checkNow,
  connectionList,
  isNamed,
  listDelay,
  useConnections,
  waysOut,
} from '../connections/list.ts';
import { ListDelay } from '../connections/who-has-it.tsx';
import { Problem } from '../problem.tsx';
import { TestLead } from '../test-lead/test-lead.tsx';
import { subscription } from './hook-form.tsx';

const INTERVAL_MS = 10_000;
/** After the connection was seen. */
const SEEN_INTERVAL_MS = 30_000;
const MAX_MINUTES = 10;

interface FirstPollProps {
  /** The platform that is being connected: its connection has this name, or that of the address that was pasted here. */
  readonly name: string;
  /** What is waited for. */
  readonly noPollText: string;
  /** Whether the test lead is the main button of the page. */
  readonly isPrimary: boolean;
}

/** Turns green when the connection of the platform has polled, or got a lead. The others are listed. */
export function FirstPoll({ name, noPollText, isPrimary }: FirstPollProps): JSX.Element {
  const round = useSignal(0);
  const isEnded = useSignal(false);
  useEffect(() => {
    isEnded.value = false;
    const timer = setTimeout(() => {
      isEnded.value = true;
    }, MAX_MINUTES * 60_000);
    return () => clearTimeout(timer);
  }, [round.value]);
  const { kind } = connectionList.value;
  const pasted = subscription.value;
  const label = pasted?.name === name && pasted.kind === 'done' ? pasted.label : name;
  const expected = waysOut.value.filter((one) => isNamed(one.name, label));
  const others = waysOut.value.filter(
    (one) => !expected.includes(one) && one.state !== 'ended' && one.id !== UNASSIGNED_ID,
  );
  const isWatching = !isEnded.value && kind !== 'failed';
  const isSeen =
    isWatching &&
    !listDelay.value &&
    expected.some(({ lastAt, level }) => lastAt !== null && (level === 'good' || level === 'unknown'));
  useConnections(isEnded.value ? undefined : isSeen ? SEEN_INTERVAL_MS : INTERVAL_MS);
  return (
    <section class={isSeen ? 'first-poll seen' : 'first-poll'} aria-labelledby="first-poll-title">
      <h2 id="first-poll-title">Does it work?</h2>
      <div role="status">
        {isEnded.value && <p>This page has stopped watching.</p>}
        {expected.length > 0 ? (
          <ul class="connections">
            {expected.map((connection) => (
              <ConnectionRow key={connection.id} connection={connection} />
            ))}
          </ul>
        ) : (
          <p>{kind === 'failed' ? 'This page cannot watch: its token does not work.' : noPollText}</p>
        )}
      </div>
      <ListDelay />
      {connectionList.value.kind === 'failed' && <Problem error={connectionList.value.error} />}
      <TestLead isPrimary={isPrimary}>
        {isWatching && (
          <button type="button" onClick={checkNow}>
            Check now
          </button>
        )}
        {isEnded.value && (
          <button
            type="button"
            onClick={() => {
              round.value += 1;
            }}
          >
            Watch again
          </button>
        )}
      </TestLead>
      {others.length > 0 && (
        <details open={expected.length === 0}>
          <summary>{expected.length > 0 ? 'Other automations' : 'Automations'}</summary>
          <ul class="connections">
            {others.map((connection) => (
              <ConnectionRow key={connection.id} connection={connection} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
