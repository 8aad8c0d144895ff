import type { JSX } from 'preact';
import { clock } from '../clock.ts';
import { consumerList, isListOlderThan, listDelay, useConsumerList } from '../consumers/consumer-list.ts';
import { ConsumerRows, type Level, Sign } from '../consumers/consumer-row.tsx';
import { ListDelay } from '../consumers/who-has-it.tsx';
import { EmptyState } from '../empty-state.tsx';
import { feedState, leads } from '../feed.ts';
import { Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { hrefOf } from '../router.ts';
import { LeadsIn } from '../senders/sender-list.tsx';
import { session } from '../session.ts';
import { TestLead } from '../test-lead/test-lead.tsx';
import { Time } from '../time.tsx';
import { TokenForm } from '../token-form.tsx';
import { Refused } from './refused.tsx';
import { ExpiryNote, TokenFacts } from './token-facts.tsx';

/** Whether every lead was picked up, and if not, by whom and what to do. Without a token: the field for it. */
export function Overview(): JSX.Element {
  const state = feedState.value;
  if (!session.value) return <Start />;
  if (state.kind === 'stopped') return <Refused error={state.error} />;
  return <Connected />;
}

const Start = () => (
  <div class="check">
    <EmptyState drawing="no-token">
      <h1>Check a token</h1>
      <p class="lede">
        With a token, your automations get every new lead from this service. See here whether yours works, and
        whether every lead was picked up.
      </p>
      <TokenForm />
      <p class="faint">
        No token? Ask the person who runs this service, who makes one with{' '}
        <code>leadtap token issue --user ID</code>.
      </p>
    </EmptyState>
  </div>
);

const INTERVAL_MS = 30_000;
/** While there is a lead that came after the list was read. */
const AFTER_LEAD_MS = 15_000;

function Connected(): JSX.Element {
  const state = feedState.value;
  const list = consumerList.value;
  const [newest] = leads.value;
  const isOld = list.kind === 'listed' && newest && isListOlderThan(newest.createdAt, list.readAt);
  const intervalMs = state.kind === 'live' ? (isOld ? AFTER_LEAD_MS : INTERVAL_MS) : undefined;
  useConsumerList(intervalMs);
  const hasConsumers = list.kind === 'listed' && list.consumers.length > 0;
  return (
    <div class={isCurrent() ? 'overview' : 'overview not-current'}>
      <Headline />
      <div class="overview-facts">
        {newest && (
          <p>
            <a href={hrefOf('leads')}>Last lead</a> <Time at={newest.createdAt} />
          </p>
        )}
        <TokenFacts />
      </div>
      {state.kind === 'retrying' && <RetryNotice state={state} />}
      <ExpiryNote />
      {list.kind === 'failed' && <Problem error={list.error} />}
      <LeadsIn intervalMs={intervalMs} />
      {hasConsumers && (
        <section aria-label="Automations">
          <h2>Leads out</h2>
          <ConsumerRows consumers={list.consumers} />
        </section>
      )}
      {state.kind === 'live' && <ListDelay />}
      {list.kind === 'listed' && (
        <p class="faint">
          Checked <Time at={list.readAt + clock() - Date.now()} />. Automations of other users are not listed.
        </p>
      )}
      <TestLead isPrimary={hasConsumers}>
        <a class={hasConsumers ? 'button' : 'button primary'} href={hrefOf('connect')}>
          {hasConsumers ? 'Connect another' : 'Connect a platform'}
        </a>
      </TestLead>
    </div>
  );
}

/** Whether what is shown is known to be true now. */
const isCurrent = (): boolean => feedState.value.kind !== 'retrying' && listDelay.value === undefined;

/** The sentence of the service. It is shown only while it is known to be true. */
function Headline(): JSX.Element {
  const [level, text] = headlineOf();
  // The first sentence is the answer.
  const [first = '', rest] = text.split(/(?<=\.) (.*)/s);
  return (
    <div role="status">
      <h1 class={`headline ${level}`}>
        {text === '' ? (
          <span class="after-200ms">Asking the service…</span>
        ) : (
          <>
            <Sign level={level} /> {first}
          </>
        )}
      </h1>
      {rest && <p>{rest}</p>}
    </div>
  );
}

function headlineOf(): readonly [level: Level, text: string] {
  const list = consumerList.value;
  if (!isCurrent()) return ['unknown', 'Not known right now'];
  switch (list.kind) {
    case 'loading':
      return ['unknown', ''];
    case 'listed':
      return [list.summary.level, list.summary.message];
    case 'not-recorded':
      return ['unknown', 'This service does not record who polls'];
    case 'failed':
      return ['unknown', 'The automations could not be checked'];
  }
}
