import type { LeadtapError } from '@leadtap/client';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clock, now } from '../clock.ts';
import { Snippet } from '../connect/snippet.tsx';
import { Fates, ListDelay } from '../connections/who-has-it.tsx';
import { leads } from '../feed.ts';
import { isFocusLost } from '../focus.ts';
import { itemOf } from '../leads/selection.ts';
import { Problem } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { session } from '../session.ts';
import { shellWord } from '../text.tsx';
import { formatWait, Time } from '../time.tsx';
import { closeTestLead, fatesOfTestLead, type StoredTestLead, sendTestLead, testLead } from './send.ts';

const FOLLOW_MINUTES = 3;
const FOLLOW_MS = FOLLOW_MINUTES * 60_000;
/** Most automations that get leads at once have the lead by then. */
const FAST_MS = 20_000;
const FAST_INTERVAL_MS = 2000;
/** The panel is complete by then. */
const OPENING_MS = 2000;
const INTERVAL_MS = 10_000;

interface TestLeadProps {
  /** Whether the button is the main one of the page. */
  readonly isPrimary?: boolean;
  /** Further buttons, beside it. */
  readonly children?: ComponentChildren;
}

/** Offers to send a test lead, and follows it. With a token that cannot send one, it says who can. */
export function TestLead({ isPrimary = true, children }: TestLeadProps): JSX.Element | null {
  const isExplained = useSignal(false);
  if (!session.value) return null;
  const { claims } = session.value;
  const state = testLead.value;
  const leftMs = state?.kind === 'failed' ? state.retryAt - Math.max(now.value, clock()) : 0;
  const isBlocked = state?.kind === 'sending' || leftMs > 0;
  const onClick = () => {
    if (claims.canSendLeads) void sendTestLead();
    else isExplained.value = !isExplained.value;
  };
  return (
    <div class="test-lead">
      <p class="actions">
        {/* Not `disabled`, which would lose the focus. */}
        <button
          type="button"
          class={isPrimary ? 'primary' : undefined}
          aria-disabled={isBlocked}
          aria-expanded={claims.canSendLeads ? undefined : isExplained.value}
          title="Automations run for it, as for a real lead."
          onClick={onClick}
        >
          {labelOf(state, leftMs)}
        </button>
        {children}
      </p>
      {isExplained.value && <WithoutScope userId={claims.userId} />}
      {state?.kind === 'failed' && <Failure error={state.error} />}
      <TestLeadProgress />
    </div>
  );
}

function labelOf(state: typeof testLead.value, leftMs: number): string {
  if (state?.kind === 'sending') return 'Sending…';
  if (leftMs > 0) return `Send it again in ${formatWait(leftMs)}`;
  if (state?.kind === 'failed') return 'Send it again';
  return state ? 'Send another test lead' : 'Send a test lead';
}

const Failure = ({ error }: { readonly error: LeadtapError }) => (
  <div role="alert">
    {error.code === 'no-such-resource' ? (
      <>
        <p>
          This service accepts no leads over HTTP (<code>LEADTAP_INTAKE=off</code>). Ask the operator to send
          a test lead with this command:
        </p>
        <Snippet code={SEND_COMMAND}>Copy command</Snippet>
      </>
    ) : (
      <>
        <Problem error={error} isOfApi />
        <ul class="notes">
          {error.problem?.errors?.map(({ detail, ...at }) => (
            <li key={detail}>
              {'field' in at && at.field !== null && <code>{at.field}</code>} {detail}
            </li>
          ))}
        </ul>
      </>
    )}
  </div>
);

const SEND_COMMAND = 'npx leadtap leads send-test --company ID';

const WithoutScope = ({ userId }: { readonly userId: string | undefined }) => (
  <>
    <p>The operator, the person who runs this service, sends a test lead with this command:</p>
    <Snippet code={SEND_COMMAND}>Copy command</Snippet>
    <p>Or you send it from this page, with a token that may also send leads. The operator makes it with:</p>
    <Snippet
      code={`npx leadtap token issue --user ${shellWord(userId ?? 'ID')} --name console --scope leads:read --scope leads:write`}
    >
      Copy command
    </Snippet>
  </>
);

/** How far the test lead has come: stored, seen here, and what became of it. */
export function TestLeadProgress(): JSX.Element | null {
  const lead = testLead.value;
  return lead?.kind === 'stored' ? <Progress key={lead.id} lead={lead} /> : null;
}

function Progress({ lead: { id, createdAt, storedAt } }: { readonly lead: StoredTestLead }): JSX.Element {
  const list = fatesOfTestLead.state.value;
  const isListed = list.kind === 'listed';
  const waits = isListed && (list.out.length === 0 || list.out.some(({ state }) => state === 'waiting'));
  const watchedMs = isListed ? list.readAt - storedAt : 0;
  const isEnded = isListed && (!waits || watchedMs > FOLLOW_MS);
  fatesOfTestLead.use(isEnded ? undefined : watchedMs > FAST_MS ? INTERVAL_MS : FAST_INTERVAL_MS);
  const seen = leads.value.find((loaded) => loaded.id === id && loaded.createdAt === createdAt);
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    // Not when the visitor comes back to it later.
    if (Date.now() > storedAt + OPENING_MS) return;
    // In an empty list the button is removed when its lead comes.
    if (isFocusLost()) section.current?.focus({ preventScroll: true });
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [isListed, seen]);
  return (
    <section class="progress who-has" ref={section} tabIndex={-1} aria-label="The test lead">
      <div role="status">
        <ul class="steps-done">
          <Line isDone>
            Test lead stored at <Time at={createdAt} form="clock" />.
          </Line>
          <Line isDone={seen !== undefined}>
            {seen ? (
              <>
                Seen in this console: <a href={hrefOf('leads', itemOf(seen))}>open it</a>
              </>
            ) : (
              'Not seen in this console yet…'
            )}
          </Line>
        </ul>
        {isListed && <Fates out={list.out} leadId={id} />}
        {isEnded && waits && <p>This page has stopped watching, after {FOLLOW_MINUTES} minutes.</p>}
      </div>
      {list.kind === 'failed' && <Problem error={list.error} />}
      <ListDelay delay={fatesOfTestLead.delay.value} />
      <p>
        <button type="button" onClick={closeTestLead}>
          Close
        </button>
      </p>
    </section>
  );
}

const Line = ({ isDone, children }: { readonly isDone: boolean; readonly children: ComponentChildren }) => (
  <li class={isDone ? 'done' : undefined}>
    <span aria-hidden="true">{isDone ? '✓' : '○'}</span>
    <span>{children}</span>
  </li>
);
