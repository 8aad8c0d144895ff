import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { explain, Problem } from '../problem.tsx';
import { Time } from '../time.tsx';
import { checkNow, INTERVAL_MS, startWatch, type Watch, watch } from './watch.ts';

/** Turns green when another program polls with a token of the same user. */
export function FirstPoll({ token }: { readonly token: string }): JSX.Element {
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
        <span class="first-poll-sign" aria-hidden="true" /> <StateText state={state} />
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
      <details>
        <summary>How this page knows, and what it cannot tell</summary>
        <p>
          The service tells in <code>RateLimit</code> how many requests are left to the user. This page asks
          every {INTERVAL_MS / 1000} seconds, for ten minutes at most, and subtracts the requests that it sent
          itself. If more are used, another program has polled. Each check uses one of the 1,000 requests per
          hour.
        </p>
        <p>
          It cannot tell which program it was: other tokens of the same user, and this console in another
          window, count as well. A request that the service refused because of the limit is not counted. When
          an hourly window of the limit ends, a poll between two checks can be missed; the next one is seen.
          The operator sees the last poll of each token on the status page.
        </p>
      </details>
    </section>
  );
}

function StateText({ state }: { readonly state: Watch }): JSX.Element {
  switch (state.kind) {
    case 'off':
      return <>Not watching.</>;
    case 'waiting':
      return (
        <>
          Waiting for the first poll of this token…
          {state.error && ` (${explain(state.error).title}. It is checked again.)`}
        </>
      );
    case 'seen':
      return (
        <>
          A poll came: it works. Seen at <Time at={state.at} form="clock" />.
        </>
      );
    case 'stopped':
      return state.reason === 'time' ? (
        <>No poll came within ten minutes. Check that the platform is switched on, and how often it polls.</>
      ) : (
        <>Stopped watching, because few requests are left this hour. They are for the platform.</>
      );
    case 'failed':
      return <>The token does not work, so no poll can.</>;
  }
}
