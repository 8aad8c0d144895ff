import type { Consumer } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import {
  type ConsumerList,
  checkNow,
  consumerList,
  listDelay,
  useConsumerList,
} from '../consumers/consumer-list.ts';
import { ConsumerRow } from '../consumers/consumer-row.tsx';
import { chosenKeys, consumerKeyOf, isNamedTwice, tokenOf } from '../consumers/expected.ts';
import { ListDelay } from '../consumers/who-has-it.tsx';
import { Problem } from '../problem.tsx';
import { TestLead } from '../test-lead/test-lead.tsx';
import { visible } from '../text.tsx';

const INTERVAL_MS = 10_000;
/** After the consumer was seen. */
const SEEN_INTERVAL_MS = 30_000;
const MAX_MINUTES = 10;

interface FirstPollProps {
  /** The platform that is being connected. Its token has this name, unless the visitor says otherwise. */
  readonly name: string;
  /** What is waited for. */
  readonly noPollText: string;
  /** Whether the test lead is the main button of the page. */
  readonly isPrimary: boolean;
}

/** Turns green when the consumer of the platform has got an answer, or an event. The others are listed. */
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
  const list = consumerList.value;
  const consumers = list.kind === 'listed' ? list.consumers : [];
  const expected = tokenOf(consumers, name);
  const isWatching = !isEnded.value && (list.kind === 'loading' || list.kind === 'listed');
  const isSeen = isWatching && !listDelay.value && expected?.level === 'good';
  useConsumerList(isEnded.value ? undefined : isSeen ? SEEN_INTERVAL_MS : INTERVAL_MS);
  return (
    <section class={isSeen ? 'first-poll seen' : 'first-poll'} aria-labelledby="first-poll-title">
      <h2 id="first-poll-title">Does it work?</h2>
      <div role="status">
        {isEnded.value && <p>This page has stopped watching.</p>}
        {expected ? (
          <ul class="consumers">
            <ConsumerRow consumer={expected} />
          </ul>
        ) : (
          <p>
            {OTHER_TEXTS[list.kind] ?? noPollText}
            {isNamedTwice(consumers, name) && ' Several have this name: choose below which one is meant.'}
          </p>
        )}
      </div>
      <ListDelay />
      {list.kind === 'failed' && <Problem error={list.error} />}
      <TestLead platform={name} isPrimary={isPrimary}>
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
      <Others {...{ consumers, name, expected }} />
    </section>
  );
}

const OTHER_TEXTS: Readonly<Partial<Record<ConsumerList['kind'], string>>> = {
  'not-recorded': 'This service does not record who polls. Look in the platform whether it has got leads.',
  failed: 'This page cannot watch: its token does not work.',
};

interface OthersProps {
  readonly name: string;
  readonly consumers: readonly Consumer[];
  readonly expected: Consumer | undefined;
}

/** The other consumers of the user, and the choice of the one that is meant. */
function Others({ consumers, name, expected }: OthersProps): JSX.Element | null {
  const others = consumers.filter((consumer) => consumer !== expected && consumer.level !== 'inactive');
  const chosenKey = chosenKeys.value[name] ?? '';
  if (others.length === 0 && chosenKey === '') return null;
  return (
    <details open={expected === undefined}>
      <summary>{expected ? 'Other automations' : 'Automations'} of this user</summary>
      <ul class="consumers">
        {others.map((consumer) => (
          <ConsumerRow key={consumerKeyOf(consumer)} consumer={consumer} />
        ))}
      </ul>
      <label>
        {name} is{' '}
        <select
          value={chosenKey}
          onChange={({ currentTarget }) => {
            chosenKeys.value = { ...chosenKeys.value, [name]: currentTarget.value };
          }}
        >
          <option value="">the one named {name}</option>
          {consumers.map((consumer) => (
            <option key={consumerKeyOf(consumer)} value={consumerKeyOf(consumer)}>
              {visible(labelOf(consumer, consumers))}
            </option>
          ))}
        </select>
      </label>
    </details>
  );
}

/** With its host or the id of its token if the name alone does not tell. */
function labelOf(consumer: Consumer, all: readonly Consumer[]): string {
  const { name, tokenId, hook } = consumer;
  if (hook?.host) return `${name ?? 'webhook'} → ${hook.host}`;
  const isUnique = name !== null && all.every((other) => other === consumer || other.name !== name);
  return isUnique ? name : `${name ?? 'token'} (${tokenId ?? 'without an id'})`;
}
