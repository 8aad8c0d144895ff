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
import { ConsumerName } from '../consumers/consumer-name.tsx';
import { chosenKeys, isNamedTwice, keyOf, tokenOf } from '../consumers/expected.ts';
import {
  formatPending,
  hasPolled,
  isAnswered,
  isStopped,
  type PolledConsumer,
  refusalOf,
} from '../consumers/polls.ts';
import { explain, Problem } from '../problem.tsx';
import { visible } from '../text.tsx';
import { Time } from '../time.tsx';

const INTERVAL_MS = 10_000;
/** After the token was seen. */
const SEEN_INTERVAL_MS = 30_000;
const MAX_MINUTES = 10;

interface FirstPollProps {
  /** The platform that is being connected. Its token has this name, unless the visitor says otherwise. */
  readonly name: string;
}

/** Turns green when the token of the platform has polled and got an answer. Polls of other tokens are listed. */
export function FirstPoll({ name }: FirstPollProps): JSX.Element {
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
  const isSeen = expected !== undefined && works(expected);
  const isWatching = !isEnded.value && (list.kind === 'loading' || list.kind === 'listed');
  useConsumerList(isEnded.value ? undefined : isSeen ? SEEN_INTERVAL_MS : INTERVAL_MS);
  const look = isWatching ? (isSeen ? 'seen' : 'waiting') : list.kind === 'failed' ? 'failed' : 'stopped';
  return (
    <section class={`first-poll ${look}`} aria-labelledby="first-poll-title">
      <h2 id="first-poll-title">The first poll</h2>
      <p class="first-poll-state" role="status">
        <span class="first-poll-sign" aria-hidden="true" />{' '}
        {isEnded.value && 'This page has stopped watching. '}
        <StateText list={list} name={name} expected={expected} isNamedTwice={isNamedTwice(consumers, name)} />
      </p>
      {list.kind === 'failed' && <Problem error={list.error} />}
      <p class="buttons">
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
      </p>
      <Polling {...{ consumers, name, expected }} />
      <details>
        <summary>How this page knows</summary>
        <p>
          The service records when each token polled last. This page asks for it every {INTERVAL_MS / 1000}{' '}
          seconds, for ten minutes at most; each time uses one of the requests that the rate limits allow.
          Requests of this console are not recorded, so they never turn this green. It only knows the token,
          not the program: if two programs share a token, it cannot tell which of them polled.
        </p>
      </details>
    </section>
  );
}

const works = (consumer: Consumer): consumer is PolledConsumer =>
  hasPolled(consumer) && isAnswered(consumer.lastStatus) && !isStopped(consumer);

interface StateTextProps extends FirstPollProps {
  readonly list: ConsumerList;
  readonly expected: Consumer | undefined;
  readonly isNamedTwice: boolean;
}

function StateText({ list, name, expected, isNamedTwice }: StateTextProps): JSX.Element {
  if (list.kind === 'not-recorded')
    return (
      <>
        This service does not record who polls, so this page cannot see it. Look in the platform whether it
        has got leads.
      </>
    );
  if (list.kind === 'failed') return <>This page cannot watch: its token does not work.</>;
  const delay = listDelay.value;
  const delayText =
    delay === 'limit'
      ? ' Not checked now, because few requests are left this hour. They are for the platform.'
      : delay && ` ${explain(delay).title}. It is checked again.`;
  if (!expected)
    return (
      <>
        Waiting for the first poll with the token “{name}”…
        {isNamedTwice && ' Several tokens have this name: choose below which one is meant.'}
        {delayText}
      </>
    );
  return (
    <>
      <ConsumerName consumer={expected} /> <PollText consumer={expected} />
      {works(expected) && ` ${formatPending(expected.pendingLeads)} for it.`}
      {expected.isThisToken && ` This is the token of this console, though: give ${name} one of its own.`}
      {delayText}
    </>
  );
}

/** `polled 3 s ago, 200.` */
function PollText({ consumer }: { readonly consumer: Consumer }): JSX.Element {
  if (!hasPolled(consumer))
    return <>has subscribed, and has not polled yet: it polls when the next lead comes.</>;
  const { lastStatus, lastPollAt } = consumer;
  const [reason, nextStep] = refusalOf(lastStatus);
  return (
    <>
      polled <Time at={lastPollAt} />,{' '}
      {isAnswered(lastStatus) ? `${lastStatus}.` : `but got no leads: ${reason}. ${nextStep}`}
      {isAnswered(lastStatus) && isStopped(consumer) && ' It has stopped polling since.'}
    </>
  );
}

interface PollingProps extends FirstPollProps {
  readonly consumers: readonly Consumer[];
  readonly expected: Consumer | undefined;
}

/** Every other token of the user that polls, and the choice of the one that is meant. */
function Polling({ consumers, name, expected }: PollingProps): JSX.Element | null {
  const others = consumers.filter((consumer) => consumer !== expected);
  const chosenKey = chosenKeys.value[name] ?? '';
  if (others.length === 0 && chosenKey === '') return null;
  const labelOf = (consumer: Consumer): string =>
    consumer.name === null || consumers.some((other) => other !== consumer && other.name === consumer.name)
      ? `${consumer.name ?? 'token'} (${consumer.tokenId ?? 'without an id'})`
      : consumer.name;
  return (
    <>
      {others.length > 0 && <h3>{expected ? 'Other tokens' : 'Tokens'} of this user that poll</h3>}
      <ul class="polling">
        {others.map((consumer) => (
          <li key={consumer.tokenId}>
            “<bdi>{visible(labelOf(consumer))}</bdi>”{consumer.isThisToken && ' (of this console)'}{' '}
            <PollText consumer={consumer} />
          </li>
        ))}
      </ul>
      <p>
        <label>
          The token of {name} is{' '}
          <select
            value={chosenKey}
            onChange={({ currentTarget }) => {
              chosenKeys.value = { ...chosenKeys.value, [name]: currentTarget.value };
            }}
          >
            <option value="">the one named {name}</option>
            {consumers.map((consumer) => (
              <option key={keyOf(consumer)} value={keyOf(consumer)}>
                {visible(labelOf(consumer))}
              </option>
            ))}
          </select>
        </label>
      </p>
    </>
  );
}
