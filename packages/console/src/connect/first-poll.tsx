import type { Consumer } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { explain, Problem } from '../problem.tsx';
import { Time } from '../time.tsx';
import { checkNow, consumers, INTERVAL_MS, isAnswered, startWatch, type Watch, watch } from './watch.ts';

interface FirstPollProps {
  readonly token: string;
  /** The platform that is being connected. */
  readonly name: string;
}

/** Turns green when a program, not this page, has polled and got an answer, and says with which token. */
export function FirstPoll({ token, name }: FirstPollProps): JSX.Element {
  const round = useSignal(0);
  useEffect(() => startWatch(token), [token, round.value]);
  const again = () => {
    round.value += 1;
  };
  const state = watch.value;
  return (
    <section class={`first-poll ${state.kind}`} aria-labelledby="first-poll-title">
      <h2 id="first-poll-title">The first poll</h2>
      <p class="first-poll-state" role="status">
        <span class="first-poll-sign" aria-hidden="true" /> <StateText state={state} name={name} />
      </p>
      {state.kind === 'failed' && <Problem error={state.error} />}
      <p class="buttons">
        {state.kind === 'waiting' ? (
          <button type="button" onClick={checkNow}>
            Check now
          </button>
        ) : (
          <button type="button" onClick={again}>
            Watch again
          </button>
        )}
      </p>
      <Polling />
      <details>
        <summary>How this page knows</summary>
        <p>
          The service records when each token polled last. This page asks for it every {INTERVAL_MS / 1000}{' '}
          seconds, for ten minutes at most; each time uses one of the 1,000 requests per hour. Requests of
          this console are not recorded, so they never turn this green. It only knows the token, not the
          program: if two programs share a token, it cannot tell which of them polled.
        </p>
      </details>
    </section>
  );
}

/** `the token “Zapier”` */
function TokenName({ consumer: { name, tokenId } }: { readonly consumer: Consumer }): JSX.Element {
  if (name !== null)
    return (
      <>
        the token “<bdi>{name}</bdi>”
      </>
    );
  if (tokenId === null) return <>a token without an id</>;
  return (
    <>
      the token <code>{tokenId}</code>
    </>
  );
}

function StateText({ state, name }: { readonly state: Watch; readonly name: string }): JSX.Element {
  switch (state.kind) {
    case 'off':
      return <>Not watching.</>;
    case 'waiting':
      return (
        <>
          Waiting for the first poll of {name}…
          {state.rejected && (
            <>
              {' '}
              A poll came with <TokenName consumer={state.rejected} /> at{' '}
              <Time at={state.rejected.lastPollAt} form="clock" />, but it got no leads:{' '}
              {reasonOf(state.rejected.lastStatus)}.
            </>
          )}
          {state.error && ` (${explain(state.error).title}. It is checked again.)`}
        </>
      );
    case 'seen':
      return (
        <>
          A poll came with <TokenName consumer={state.consumer} /> at{' '}
          <Time at={state.consumer.lastPollAt} form="clock" />, and the service answered it.{' '}
          {state.consumer.isThisToken
            ? `It works. This is the token of this console, though: give ${name} one of its own.`
            : `If this is the token of ${name}, it works.`}
        </>
      );
    case 'stopped':
      return <>{STOPPED[state.reason]}</>;
    case 'failed':
      return <>This page cannot watch: its token does not work.</>;
  }
}

const STOPPED = {
  time: 'No poll came within ten minutes. Check that the platform is switched on, and how often it polls.',
  limit: 'Stopped watching, because few requests are left this hour. They are for the platform.',
  'not-recorded':
    'This service does not record who polls, so this page cannot see it. Look in the platform whether it has got leads.',
} as const;

const REASONS: Readonly<Record<number, string>> = {
  400: 'something in the request is not valid (400)',
  403: 'its user or token may not read leads (403)',
  429: 'it has sent too many requests (429)',
  499: 'it closed the connection before the answer',
};

const reasonOf = (status: number): string => REASONS[status] ?? `the service could not answer (${status})`;

/** Every token of the user that polls. */
function Polling(): JSX.Element | null {
  if (consumers.value.length === 0) return null;
  return (
    <>
      <h3>Tokens of this user that poll</h3>
      <ul class="polling">
        {consumers.value.map((consumer) => (
          <li key={consumer.tokenId}>
            <TokenName consumer={consumer} />
            {consumer.isThisToken && ' (of this console)'}: last poll <Time at={consumer.lastPollAt} />
            {!isAnswered(consumer.lastStatus) && `, ${reasonOf(consumer.lastStatus)}`}
          </li>
        ))}
      </ul>
    </>
  );
}
