import type { Lead } from '@leadtap/client';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { now } from '../clock.ts';
import { guides, loadGuides } from '../connect/guides.ts';
import { Problem } from '../problem.tsx';
import { CopyButton, formatCount, nameOf, Text, toJson, visible } from '../text.tsx';
import { formatDuration, Time } from '../time.tsx';
import { type Answer, exchange, followLink, stopRequest } from './exchange.ts';
import { explainHeaders } from './header-texts.ts';
import { etag, readNextLink } from './request.ts';

/** On narrow screens the answer is below the request, out of sight. */
const IS_BELOW = matchMedia('(max-width: 63.999rem)');

/** The right half: what came back. */
export function AnswerPane(): JSX.Element {
  useEffect(() => void loadGuides(), []);
  const current = exchange.value;
  const section = useRef<HTMLElement>(null);
  const shown = useRef(current);
  useEffect(() => {
    if (shown.current !== current && current.kind !== 'none' && IS_BELOW.matches)
      section.current?.scrollIntoView();
    shown.current = current;
  }, [current]);
  return (
    <section class="answer" aria-labelledby="answer-title" ref={section}>
      <h2 id="answer-title">Answer</h2>
      {current.kind === 'none' && <p class="soft">Send the request to see the answer here.</p>}
      {current.kind === 'stopped' && (
        <p role="status">You stopped the request. It was counted all the same.</p>
      )}
      {current.kind === 'sending' && (
        <Sending sentAt={current.sentAt} wait={current.request.headers['Prefer']} />
      )}
      {current.kind === 'failed' && <Problem error={current.error} />}
      {current.kind === 'answered' && <Received answer={current.answer} />}
    </section>
  );
}

function Sending({
  sentAt,
  wait,
}: {
  readonly sentAt: number;
  readonly wait: string | undefined;
}): JSX.Element {
  const elapsedMs = Math.max(0, now.value - sentAt);
  return (
    <>
      <p role="status">
        {wait === undefined
          ? 'Sent. Waiting for the answer…'
          : 'Sent. The service holds the request until there is a lead, or the wait is over.'}
      </p>
      <p>
        <button type="button" onClick={stopRequest}>
          Stop
        </button>{' '}
        {elapsedMs >= 1000 && <span class="soft">{formatDuration(elapsedMs)}</span>}
      </p>
    </>
  );
}

function Received({ answer }: { readonly answer: Answer }): JSX.Element {
  const { status, headers, error, receivedAt } = answer;
  const link = headers.get('link');
  const tag = headers.get('etag');
  const passesInMs = error?.retryAfterMs === undefined ? 0 : receivedAt + error.retryAfterMs - now.value;
  return (
    <>
      <p class="answer-line" role="status">
        <span class={`status-code s${Math.floor(status / 100)}`}>{status}</span> {summaryOf(answer)}
      </p>
      {error && <Problem error={error} isOfApi />}
      {error?.retryAfterMs !== undefined && (
        <p>
          {passesInMs > 0
            ? `The request passes in ${formatDuration(passesInMs + 999)}.`
            : 'The request passes now.'}
        </p>
      )}
      {readNextLink(link) && (
        <p class="buttons">
          <button type="button" onClick={() => followLink(link)}>
            Follow Link
          </button>
          <span class="soft">sends the request for the leads that come next</span>
        </p>
      )}
      {tag && etag.value !== tag && (
        <p class="buttons">
          <button
            type="button"
            onClick={() => {
              etag.value = tag;
            }}
          >
            Use the ETag
          </button>
          <span class="soft">the next request then gets 304 while the page is unchanged</span>
        </p>
      )}
      <h3>Body</h3>
      <Body answer={answer} />
      <h3>Headers</h3>
      <dl class="headers">
        {explainHeaders(headers, guides.value?.headers).map(({ name, value, description }) => (
          <div key={name}>
            <dt>{name}: </dt>
            <dd class="value">{value}</dd>
            <dd class="soft">
              <Text>{description}</Text>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function summaryOf({ status, statusText, leads, durationMs, text }: Answer): string {
  const size = new Blob([text]).size;
  const bytes = size < 1000 ? `${size} B` : `${(size / 1000).toFixed(1)} kB`;
  const time = durationMs < 1000 ? `${durationMs} ms` : `${(durationMs / 1000).toFixed(1)} s`;
  const what = leads && formatCount(leads.length);
  const words = status === 304 ? 'the page is unchanged' : what;
  return [statusText, words, time, bytes].filter(Boolean).join(' · ');
}

function Body({ answer: { leads, text } }: { readonly answer: Answer }): JSX.Element {
  if (text === '') return <p class="soft">Empty.</p>;
  if (!leads)
    return (
      <pre>
        <code>{pretty(text)}</code>
      </pre>
    );
  return (
    <>
      {leads.length === 0 && (
        <p>
          <code>[]</code> No lead is newer.
        </p>
      )}
      {leads.map((lead) => (
        <LeadJson key={lead.automation_trigger_id} lead={lead} />
      ))}
      <p class="buttons">
        <CopyButton text={() => pretty(text)}>Copy JSON</CopyButton>
      </p>
    </>
  );
}

const MAX_NAME_LENGTH = 200;

const LeadJson = ({ lead }: { readonly lead: Lead }) => (
  <details class="lead-json">
    <summary>
      <bdi>{nameOf(lead.fullName ?? '').slice(0, MAX_NAME_LENGTH)}</bdi>
      <span class="soft">
        <bdi>{visible(lead.status?.label ?? '')}</bdi> · <Time at={lead.createdAt} />
      </span>
    </summary>
    <pre>
      <code>{toJson(lead)}</code>
    </pre>
  </details>
);

function pretty(text: string): string {
  try {
    return toJson(JSON.parse(text));
  } catch {
    return text;
  }
}
