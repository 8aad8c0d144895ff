import { MAX_LEADS_PER_PAGE, MAX_WAIT_S } from '@leadtap/contract';
import type { Signal } from '@preact/signals';
import type { ComponentChildren, JSX, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';
import { session } from '../session.ts';
import { CopyButton } from '../text.tsx';
import { TokenForm } from '../token-form.tsx';
import { AnswerPane } from './answer.tsx';
import { exchange, sendRequest } from './exchange.ts';
import {
  curlOf,
  etag,
  fromLocalField,
  limit,
  QUICK_CHOICES,
  request,
  since,
  toLocalField,
  waitS,
} from './request.ts';

/** Build a request, send it, and read the answer with an explanation of every header. */
export function Explore(): JSX.Element {
  const onSubmit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    void sendRequest();
  };
  return (
    <div class="explore">
      <h1>Explore the endpoint</h1>
      {!session.value && (
        <>
          <TokenForm />
          <p class="soft">Without a token you can send requests, too: the answer is then 401.</p>
        </>
      )}
      <div class="panes">
        <section aria-labelledby="request-title">
          <h2 id="request-title">Request</h2>
          <form onSubmit={onSubmit} autocomplete="off">
            <SinceFields />
            <NumberField name="limit" value={limit} max={MAX_LEADS_PER_PAGE}>
              leads per page, at most {MAX_LEADS_PER_PAGE}
            </NumberField>
            <NumberField name="wait" value={waitS} max={MAX_WAIT_S}>
              {since.value === '' && Number(waitS.value) > 0
                ? 'has no effect without since'
                : `seconds to wait for a lead if none is newer, at most ${MAX_WAIT_S}`}
            </NumberField>
            <button type="submit" class="primary" disabled={exchange.value.kind === 'sending'}>
              Send
            </button>
          </form>
          <RequestText />
          <p class="soft">
            Each request uses one of the limits of the user. <code>Leadtap-Client: console</code> marks it as
            one of this page: it does not count where the operator looks up who has received which lead.
          </p>
        </section>
        <AnswerPane />
      </div>
    </div>
  );
}

function SinceFields(): JSX.Element {
  const id = useId();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <fieldset>
      <legend>since</legend>
      <p class="choices">
        {QUICK_CHOICES.map((choice) => (
          <button
            key={choice.title}
            type="button"
            onClick={() => {
              since.value = choice.since();
            }}
          >
            {choice.title}
          </button>
        ))}
      </p>
      <label for={id}>Time, as it is sent. Empty: the newest leads, newest first</label>
      <input
        id={id}
        name="since"
        class="mono"
        spellcheck={false}
        placeholder="2026-03-02T09:30:00.000Z"
        value={since.value}
        onInput={(event) => {
          since.value = event.currentTarget.value;
        }}
      />
      <label for={`${id}-local`}>The same in your time zone ({zone})</label>
      <input
        id={`${id}-local`}
        type="datetime-local"
        step="1"
        value={toLocalField(since.value)}
        onChange={(event) => {
          since.value = fromLocalField(event.currentTarget.value);
        }}
      />
    </fieldset>
  );
}

interface NumberFieldProps {
  readonly name: string;
  readonly value: Signal<string>;
  readonly max: number;
  readonly children: ComponentChildren;
}

/** Text with a numeric keyboard, not a number field: a visitor may want to see what the service says to nonsense. */
function NumberField({ name, value, max, children }: NumberFieldProps): JSX.Element {
  const id = useId();
  return (
    <p class="number-field">
      <label for={id}>{name}</label>
      <input
        id={id}
        name={name}
        inputMode="numeric"
        size={String(max).length + 2}
        value={value.value}
        aria-describedby={`${id}-about`}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
      <span id={`${id}-about`} class="soft">
        {children}
      </span>
    </p>
  );
}

function RequestText(): JSX.Element {
  const { path, headers } = request.value;
  const token = session.value?.token;
  const lines = [
    `GET ${path}`,
    ...(token === undefined ? [] : ['Authorization: Bearer <your token>']),
    'Leadtap-Client: console',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return (
    <>
      <pre>
        <code>{lines.join('\n')}</code>
      </pre>
      {etag.value !== '' && (
        <p class="buttons">
          <button
            type="button"
            onClick={() => {
              etag.value = '';
            }}
          >
            Do not send the ETag
          </button>
        </p>
      )}
      <h3>The same with curl</h3>
      <pre>
        <code>{curlOf(request.value)}</code>
      </pre>
      <p class="buttons">
        <CopyButton text={() => curlOf(request.peek())}>Copy curl</CopyButton>
        {token !== undefined && (
          <CopyButton text={() => curlOf(request.peek(), token)}>Copy curl with the token</CopyButton>
        )}
      </p>
    </>
  );
}
