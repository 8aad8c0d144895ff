import type { Lead, LeadtapError } from '@leadtap/client';
import { type LeadConnections, PHRASES } from '@leadtap/contract';
import type { JSX } from 'preact';
import { now } from '../clock.ts';
import { openedLead } from '../leads/selection.ts';
import { explain, Problem } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { Text, visible } from '../text.tsx';
import { formatClock, formatDay, formatDuration, formatExact } from '../time.tsx';
import { SendAgain } from './buttons.tsx';
import { createLeadList, findConnection, listDelay, useConnections } from './list.ts';
import { logHrefOfLead } from './opened-log.ts';

const INTERVAL_MS = 30_000;
/** Of a lead of the last minute, which is on its way. */
const FAST_INTERVAL_MS = 3000;
const MINUTE_MS = 60_000;
/** Which of them are webhooks changes seldom. */
const LIST_INTERVAL_MS = 600_000;

const { state, delay, use } = createLeadList(() => openedLead.value?.id);

/** What became of the opened lead. */
export function WhoHasIt({ lead }: { readonly lead: Lead }): JSX.Element {
  const list = state.value;
  const isOnItsWay =
    list.kind === 'listed' &&
    list.out.some((one) => one.state === 'waiting') &&
    now.peek() - Date.parse(lead.createdAt) < MINUTE_MS;
  use(isOnItsWay ? FAST_INTERVAL_MS : INTERVAL_MS);
  useConnections(LIST_INTERVAL_MS);
  return (
    <section class="who-has" aria-label="Who has it">
      <h2>Who has it</h2>
      {list.kind === 'listed' ? (
        <Fates out={list.out} leadId={lead.id} />
      ) : list.kind === 'failed' ? (
        <Problem error={list.error} />
      ) : (
        !delay.value && <p class="after-200ms">Asking the service…</p>
      )}
      <ListDelay delay={delay.value} />
    </section>
  );
}

interface ListDelayProps {
  readonly delay?: LeadtapError | 'limit' | undefined;
}

/** Why the list is not current. Default: that of the connections. */
export function ListDelay({ delay = listDelay.value }: ListDelayProps): JSX.Element | null {
  if (!delay) return null;
  return (
    <p class="soft">
      {delay === 'limit'
        ? 'Not checked now: few requests are left this hour, and they are for the automations.'
        : `${explain(delay).title}. It is checked again.`}
    </p>
  );
}

type Fate = LeadConnections['out'][number];

/** As people read it, before a time. */
const WORDS: Readonly<Record<Fate['state'], string>> = {
  missed: 'not received',
  waiting: 'waiting',
  sent: 'sent',
  none: PHRASES.none,
};

/** Those that need no attention are folded if there are more. */
const MAX_SHOWN = 12;

interface FatesProps {
  readonly out: readonly Fate[];
  readonly leadId: string;
}

/** `CRM not received · Slack sent 12:01:07`, in the order of the service: those without it first. */
export function Fates({ out, leadId }: FatesProps): JSX.Element {
  if (out.length === 0)
    return (
      <p>
        No automation gets leads yet. <a href={hrefOf('connect')}>Connect a platform</a>
      </p>
    );
  const owed = out.filter((one) => one.state === 'missed' || one.state === 'waiting').length;
  const shown = out.length > MAX_SHOWN ? Math.max(owed, MAX_SHOWN) : out.length;
  const render = (fate: Fate) => <FateLine key={fate.id} fate={fate} leadId={leadId} />;
  return (
    <>
      <ul class="fates">{out.slice(0, shown).map(render)}</ul>
      {out.length > shown && (
        <details>
          <summary>{out.length - shown} others</summary>
          <ul class="fates">{out.slice(shown).map(render)}</ul>
        </details>
      )}
    </>
  );
}

interface FateLineProps {
  readonly fate: Fate;
  readonly leadId: string;
}

function FateLine({ fate, leadId }: FateLineProps): JSX.Element {
  const { id, name, state: fateState, at, why } = fate;
  return (
    <li class={fateState}>
      <a href={logHrefOfLead(id, leadId)}>
        <bdi>{visible(name)}</bdi>
      </a>{' '}
      <b title={at === null ? undefined : formatExact(Date.parse(at))}>
        {WORDS[fateState]}
        {at !== null && timeText(fateState, Date.parse(at))}
      </b>
      {why !== null && (
        <span class="soft">
          : <Text>{visible(why)}</Text>
        </span>
      )}{' '}
      {(fateState === 'missed' || fateState === 'sent') && (
        <SendAgain connection={findConnection(id)} leadIds={[leadId]}>
          {fateState === 'missed' ? 'Send' : 'Send again'}
        </SendAgain>
      )}
    </li>
  );
}

/** ` 3 min` for what waits; ` 12:01:07`, with the day if it is another one, for what was sent. */
function timeText(fateState: Fate['state'], at: number): string {
  if (fateState === 'waiting') return ` ${formatDuration(Math.max(0, now.value - at))}`;
  if (fateState !== 'sent') return '';
  const isToday = formatDay(at) === formatDay(now.peek());
  return ` ${isToday ? '' : `${formatDay(at)}, `}${formatClock(at)}`;
}
