import { UNASSIGNED_ID } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { clock } from '../clock.ts';
import { ConnectionRow } from '../connections/connection-row.tsx';
import { HoursLegend } from '../connections/hours.tsx';
import { Sentence, type SentenceProps } from '../connections/level.tsx';
import {
  type Connection,
  connectionList,
  isListOlderThan,
  listDelay,
  useConnections,
} from '../connections/list.ts';
import { ConnectionLists } from '../connections/row.tsx';
import { ListDelay } from '../connections/who-has-it.tsx';
import { EmptyState } from '../empty-state.tsx';
import { feedState, leads } from '../feed.ts';
import { Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { hrefOf } from '../router.ts';
import { baseUrl, observedFetch } from '../service.ts';
import { session } from '../session.ts';
import { FeedNote, LimitsNote } from '../status-line.tsx';
import { TestLead } from '../test-lead/test-lead.tsx';
import { Text } from '../text.tsx';
import { Time } from '../time.tsx';
import { TokenForm } from '../token-form.tsx';
import { NewestLeads } from './newest-leads.tsx';
import { Refused } from './refused.tsx';
import { ExpiryNote, TokenFacts } from './token-facts.tsx';
import { WaysToConnect } from './ways-to-connect.tsx';

/** Whether every lead arrived, and if not, where and what to do. Without a token: the field for it. */
export function Overview(): JSX.Element {
  const state = feedState.value;
  if (!session.value) return <Start />;
  if (state.kind === 'stopped') return <Refused error={state.error} />;
  return <Connected />;
}

function Start(): JSX.Element {
  const hint = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const ask = async () => {
      const response = await observedFetch(`${baseUrl}/readyz`, { headers: {} }).catch(() => undefined);
      hint.value = response?.ok ? (await response.json()).hint : undefined;
      if (!hint.value) clearInterval(timer);
    };
    const timer = setInterval(ask, HINT_MS);
    void ask();
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="check">
      <EmptyState drawing="no-token">
        <h1>Check a token</h1>
        <p class="lede" role="status">
          <Text>{hint.value ?? 'See whether your token works, and where every lead went.'}</Text>
        </p>
        <TokenForm />
        <p class="faint">
          No token? Ask the person who runs this service, who makes one with{' '}
          <code>leadtap token issue --user ID</code>.
        </p>
      </EmptyState>
    </div>
  );
}

const HINT_MS = 5000;

const INTERVAL_MS = 30_000;
/** While there is a lead that came after the list was read. */
const AFTER_LEAD_MS = 15_000;

/** A time by the clock of the visitor, by that of the service. */
const byService = (time: number): number => time + clock() - Date.now();

function Connected(): JSX.Element {
  const state = feedState.value;
  const list = connectionList.value;
  const [newest] = leads.value;
  const isListed = list.kind === 'listed';
  const isOld = isListed && newest && isListOlderThan(newest.createdAt, list.readAt);
  useConnections(state.kind === 'live' ? (isOld ? AFTER_LEAD_MS : INTERVAL_MS) : undefined);
  const isCurrent = state.kind !== 'retrying' && listDelay.value === undefined;
  const isUnconnected =
    isListed && list.out.every(({ id, state }) => id === UNASSIGNED_ID || state === 'ended');
  // All at once: nothing moves when the next answer has come.
  const isLoaded =
    state.kind === 'retrying' || (state.kind === 'live' && (list.kind !== 'loading' || listDelay.value));
  return (
    <div class={isCurrent ? 'overview' : 'overview not-current'}>
      <div class="overview-head">
        <Sentence {...(isCurrent ? sentenceOf(list, isUnconnected) : NOT_KNOWN)} />
        {isLoaded && (
          <>
            <div class="overview-facts soft">
              <p>
                <FeedNote />
                {newest && (
                  <span>
                    <a href={hrefOf('leads')}>Last lead</a> <Time at={newest.createdAt} />
                  </span>
                )}
                <LimitsNote />
              </p>
              <TokenFacts />
            </div>
            <TestLead isPrimary={!isUnconnected}>
              {!isUnconnected && (
                <a class="button" href={hrefOf('connect')}>
                  Connect another
                </a>
              )}
            </TestLead>
          </>
        )}
      </div>
      {state.kind === 'retrying' && <RetryNotice state={state} />}
      <ExpiryNote />
      {list.kind === 'failed' && <Problem error={list.error} />}
      {isLoaded && (
        <>
          {isUnconnected && <WaysToConnect />}
          {isListed && <ConnectionLists {...list} render={renderRow} />}
          {state.kind === 'live' && <ListDelay />}
          {(newest || state.kind === 'live') && <NewestLeads />}
          {isListed && (
            <p class="overview-foot faint">
              <span>
                Checked <Time at={byService(list.readAt)} />.
              </span>
              {list.in.length + list.out.length > 0 && <HoursLegend />}
            </p>
          )}
        </>
      )}
    </div>
  );
}

const renderRow = (connection: Connection): JSX.Element => (
  <ConnectionRow key={connection.id} connection={connection} />
);

const NOT_KNOWN = { level: 'unknown', text: 'Not known right now' } as const;

/** One sentence for all. It is shown only while it is known to be true. */
function sentenceOf(list: typeof connectionList.value, isUnconnected: boolean): SentenceProps {
  if (list.kind === 'loading') return { text: '' };
  if (list.kind === 'failed') return { level: 'unknown', text: 'The connections could not be checked' };
  if (isUnconnected && list.level === 'unknown') return { text: 'Connect your first automation' };
  return { level: list.level, text: list.message };
}
