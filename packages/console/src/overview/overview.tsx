import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { clock } from '../clock.ts';
import { consumerList, isListOlderThan, listDelay, useConsumerList } from '../consumers/consumer-list.ts';
import { ConsumerRow } from '../consumers/consumer-row.tsx';
import { ListDelay } from '../consumers/who-has-it.tsx';
import { HoursLegend } from '../diagnosis/hours.tsx';
import { DiagnosisRows, findWorst, isProblem, showFix } from '../diagnosis/rows.tsx';
import { EmptyState } from '../empty-state.tsx';
import { feedState, leads } from '../feed.ts';
import { Problem } from '../problem.tsx';
import { RetryNotice } from '../retry.tsx';
import { hrefOf } from '../router.ts';
import { senderList, sendersDelay, useSenderList } from '../senders/sender-list.ts';
import { SenderRow } from '../senders/sender-row.tsx';
import { baseUrl, observedFetch } from '../service.ts';
import { session } from '../session.ts';
import { Connection, LimitsNote } from '../status-line.tsx';
import { TestLead } from '../test-lead/test-lead.tsx';
import { Text } from '../text.tsx';
import { Time } from '../time.tsx';
import { TokenForm } from '../token-form.tsx';
import { Headline, isCurrent } from './headline.tsx';
import { NewestLeads } from './newest-leads.tsx';
import { Refused } from './refused.tsx';
import { ExpiryNote, TokenFacts } from './token-facts.tsx';
import { WaysToConnect } from './ways-to-connect.tsx';

/** Whether every lead was picked up, and if not, by whom and what to do. Without a token: the field for it. */
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
          <Text>{hint.value ?? 'See whether your token works, and whether every lead was picked up.'}</Text>
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

function Connected(): JSX.Element {
  const state = feedState.value;
  const list = consumerList.value;
  const senders = senderList.value;
  const [newest] = leads.value;
  const isOld = list.kind === 'listed' && newest && isListOlderThan(newest.createdAt, list.readAt);
  const intervalMs = state.kind === 'live' ? (isOld ? AFTER_LEAD_MS : INTERVAL_MS) : undefined;
  useConsumerList(intervalMs);
  useSenderList(intervalMs);
  const consumers = list.kind === 'listed' ? list.consumers : [];
  const all = [...consumers, ...(senders.kind === 'listed' ? senders.senders : [])];
  const worst = findWorst(all.filter((row) => isProblem(row) && row.fix !== null));
  const isUnconnected = list.kind === 'listed' && consumers.every(({ level }) => level === 'inactive');
  // All at once: nothing moves when the next answer has come.
  const isLoaded =
    state.kind === 'retrying' ||
    (state.kind === 'live' &&
      (list.kind !== 'loading' || listDelay.value) &&
      (senders.kind !== 'loading' || sendersDelay.value));
  return (
    <div class={isCurrent() ? 'overview' : 'overview not-current'}>
      <div class="overview-head">
        <Headline />
        {isLoaded && (
          <>
            <div class="overview-facts soft">
              <p>
                <Connection />
                {newest && (
                  <span>
                    <a href={hrefOf('leads')}>Last lead</a> <Time at={newest.createdAt} />
                  </span>
                )}
                <LimitsNote />
              </p>
              <TokenFacts />
            </div>
            <TestLead isPrimary={!worst && !isUnconnected}>
              {worst ? (
                <button type="button" class="primary" onClick={() => showFix(worst.id)}>
                  Fix
                </button>
              ) : (
                !isUnconnected && (
                  <a class="button" href={hrefOf('connect')}>
                    Connect another
                  </a>
                )
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
          {senders.kind === 'listed' && (
            <Section id="leads-in" title="Leads in">
              {senders.senders.length === 0 ? (
                <p class="soft">No lead has come in over HTTP yet.</p>
              ) : (
                <DiagnosisRows
                  all={senders.senders}
                  render={(sender) => (
                    <SenderRow
                      key={sender.id}
                      sender={sender}
                      now={byService(senders.readAt)}
                      isOpen={sender === worst}
                    />
                  )}
                />
              )}
            </Section>
          )}
          {list.kind === 'listed' && consumers.length > 0 && (
            <Section id="leads-out" title="Leads out">
              <DiagnosisRows
                all={consumers}
                render={(consumer) => (
                  <ConsumerRow
                    key={consumer.id}
                    consumer={consumer}
                    now={byService(list.readAt)}
                    isOpen={consumer === worst}
                  />
                )}
              />
            </Section>
          )}
          {state.kind === 'live' && <ListDelay />}
          {(newest || state.kind === 'live') && <NewestLeads />}
          {list.kind === 'listed' && (
            <p class="overview-foot faint">
              <span>
                Checked <Time at={byService(list.readAt)} />. Automations of other users are not listed.
              </span>
              {all.length > 0 && <HoursLegend />}
            </p>
          )}
        </>
      )}
    </div>
  );
}

/** A time by the clock of the visitor, by that of the service. */
const byService = (time: number): number => time + clock() - Date.now();

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly children: ComponentChildren;
}

const Section = ({ id, title, children }: SectionProps) => (
  <section aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);
