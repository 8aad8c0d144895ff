import type { Lead } from '@leadtap/client';
import { type Consumer, leadStateOf } from '@leadtap/contract';
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { clock } from '../clock.ts';
import { explain, Problem } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { formatCount } from '../text.tsx';
import { formatDuration, Time } from '../time.tsx';
import { consumerList, listDelay, useConsumerList } from './consumer-list.ts';
import { ConsumerName } from './consumer-name.tsx';
import { formatPending, hasPolled, isAnswered, isStopped, type PolledConsumer, refusalOf } from './polls.ts';

const INTERVAL_MS = 30_000;
/** For a list that may be older than the lead. */
const FIRST_INTERVAL_MS = 2000;
/** The clocks of the page and the service may differ by this much. */
const CLOCK_MARGIN_MS = 5000;

type LeadTimes = Pick<Lead, 'createdAt' | 'automation_created_at'>;

interface WhoHasItProps {
  readonly lead: LeadTimes;
}

/** For each consumer of the user in words: whether it has the lead, and if not, why not and what to do. */
export function WhoHasIt({ lead }: WhoHasItProps): JSX.Element {
  const openedAt = useRef(Date.now());
  const list = consumerList.value;
  const isOld =
    list.kind === 'listed' &&
    list.readAt < openedAt.current &&
    Date.parse(lead.createdAt) > list.readAt + (clock() - Date.now()) - CLOCK_MARGIN_MS;
  useConsumerList(isOld ? FIRST_INTERVAL_MS : INTERVAL_MS);
  return (
    <section class="who-has" aria-label="Who has it">
      <h2>Who has it</h2>
      {list.kind === 'listed' && !isOld ? (
        <ConsumerStates consumers={list.consumers} lead={lead} />
      ) : list.kind === 'not-recorded' ? (
        <p>This service does not record who polls. Look in the platform whether it has the lead.</p>
      ) : list.kind === 'failed' ? (
        <Problem error={list.error} />
      ) : (
        !listDelay.value && <p class="after-200ms">Asking the service…</p>
      )}
      <ListDelay />
    </section>
  );
}

export function ListDelay(): JSX.Element | null {
  const delay = listDelay.value;
  if (!delay) return null;
  return (
    <p class="soft">
      {delay === 'limit'
        ? 'Not checked now: few requests are left this hour, and they are for the automations.'
        : `${explain(delay).title}. It is checked again.`}
    </p>
  );
}

interface ConsumerStatesProps extends WhoHasItProps {
  readonly consumers: readonly Consumer[];
}

export function ConsumerStates({ consumers, lead }: ConsumerStatesProps): JSX.Element {
  const inactive = consumers.filter(({ state }) => state === 'inactive');
  const others = consumers.filter(({ state }) => state !== 'inactive');
  const rows = (shown: readonly Consumer[]) => (
    <ul>
      {shown.map((consumer) => (
        <Row key={consumer.tokenId} consumer={consumer} lead={lead} />
      ))}
    </ul>
  );
  return (
    <>
      {consumers.length === 0 ? (
        <p>
          No automation polls with a token of this user. <a href={hrefOf('connect')}>Connect a platform</a>
        </p>
      ) : (
        rows(others)
      )}
      {inactive.length > 0 && (
        <details open={others.length === 0}>
          <summary>{inactive.length} no longer in use</summary>
          {rows(inactive)}
        </details>
      )}
      <p class="soft">
        Automations of other users are not listed, nor those whose token no longer works and is no longer
        used.
      </p>
    </>
  );
}

/**
 * The states of the contract, and of those that are skipped: `unknown` if it cannot be known, `early` if the consumer started later.
 * `stuck`: it does not get the lead unless somebody does something.
 */
const SIGNS = {
  ...{ confirmed: '✓', delivered: '✓', waiting: '○', stuck: '!' },
  ...{ skipped: '✗', unknown: '?', early: '–' },
} as const;

type State = keyof typeof SIGNS;

/** The rule is that of the contract. This only tells apart why a lead was skipped. */
function stateOf(consumer: Consumer, lead: LeadTimes): State {
  const state = leadStateOf(consumer, lead);
  if (state !== 'skipped') return state;
  const { createdAt } = lead;
  const gap = consumer.gaps.find(({ after, through }) => (after ?? '') < createdAt && createdAt <= through);
  if (!gap || gap.isBeforeStart) return 'early';
  return consumer.confirmedThrough === null ? 'unknown' : 'skipped';
}

function Row({ consumer, lead }: WhoHasItProps & { readonly consumer: Consumer }): JSX.Element {
  const state = stateOf(consumer, lead);
  // The first time at which it is known to have the lead; later polls only say that it still has it.
  const knownAt = useRef<string>(undefined);
  if (state === 'waiting') knownAt.current = undefined;
  else knownAt.current ??= consumer.lastPollAt ?? undefined;
  const { sentence, nextStep, isStuck } = describe(consumer, lead, state, knownAt.current ?? lead.createdAt);
  return (
    <li class={isStuck ? 'stuck' : state}>
      <span aria-hidden="true">{SIGNS[isStuck ? 'stuck' : state]}</span>
      <span>
        <b>
          <ConsumerName consumer={consumer} />
        </b>
        {consumer.isThisToken && ' (the token of this console)'} {sentence}{' '}
        {nextStep !== undefined && <span class="soft">{nextStep}</span>}
      </span>
    </li>
  );
}

interface Description {
  readonly sentence: ComponentChildren;
  readonly nextStep?: ComponentChildren;
  /** It does not get the lead unless somebody does something. */
  readonly isStuck?: true;
}

function describe(consumer: Consumer, lead: LeadTimes, state: State, knownAt: string): Description {
  // Positions are no times: the poll that told the service so was the last one, or an earlier one.
  const time = (
    <>
      <Time at={knownAt} form="clock" /> or earlier
    </>
  );
  switch (state) {
    case 'confirmed':
      return { sentence: <>has it, since {time}.</> };
    case 'skipped':
      return {
        sentence: 'does not have it: it asked for what comes after it; it was never sent to it.',
        nextStep:
          'Add this lead in the platform by hand, and compare the settings of the automation with the steps in Connect.',
      };
    case 'unknown':
      return {
        sentence: 'may not have it: it polls without since, and more leads came than its poll got.',
        nextStep: 'Look for it in the platform, and let it poll more often.',
      };
    case 'early':
      return {
        sentence:
          lead.createdAt === lead.automation_created_at
            ? 'was never sent it: it started after this lead.'
            : 'was never sent it: this lead was imported as history, with a date in the past.',
      };
    case 'delivered':
      return describeDelivered(consumer, <>received it at {time}</>);
    default:
      return describeWaiting(consumer, lead);
  }
}

function describeDelivered(consumer: Consumer, sent: JSX.Element): Description {
  if (consumer.confirmedThrough === null)
    return {
      sentence: <>{sent}.</>,
      nextStep: 'It polls without since, so it never confirms that it has processed a lead.',
    };
  return {
    sentence: <>{sent}; not confirmed yet.</>,
    nextStep:
      isStopped(consumer) && hasPolled(consumer) ? (
        <>
          It stopped polling <Time at={consumer.lastPollAt} />: look in the platform for errors.
        </>
      ) : (
        'One of its next polls confirms it.'
      ),
  };
}

/** Why it does not have the lead: the first reason that explains it. */
function describeWaiting(consumer: Consumer, lead: LeadTimes): Description {
  const { hook } = consumer;
  if (hook?.state === 'disabled')
    return {
      sentence: `does not have it: its webhook was switched off after ${formatCount(hook.failures, 'failure')}${withStatus(hook)}.`,
      nextStep: 'Switch the automation off and on again, so that it subscribes again.',
      isStuck: true,
    };
  if (hook?.state === 'failing')
    return {
      sentence: `does not have it: its webhook fails${withStatus(hook)}.`,
      nextStep: 'The service tries again by itself. Check that the automation is switched on.',
      isStuck: true,
    };
  if (hasPolled(consumer) && !isAnswered(consumer.lastStatus)) {
    const [reason, nextStep] = refusalOf(consumer.lastStatus);
    return {
      sentence: (
        <>
          does not have it: its last poll, <Time at={consumer.lastPollAt} />, got no leads: {reason}.
        </>
      ),
      nextStep,
      isStuck: true,
    };
  }
  if (hook && (consumer.lastPollAt ?? '') < lead.createdAt) return describeHook(hook, lead);
  return hasPolled(consumer)
    ? describePoller(consumer, lead)
    : { sentence: 'does not have it yet: it has not polled.' };
}

type ConsumerHook = NonNullable<Consumer['hook']>;

const withStatus = ({ lastStatus }: ConsumerHook): string =>
  lastStatus === null ? '' : ` (last status ${lastStatus})`;

/** It polls when its webhook gets an event. */
function describeHook(
  { announcedThrough, lastEventAt }: ConsumerHook,
  { createdAt }: LeadTimes,
): Description {
  if (announcedThrough < createdAt || lastEventAt === null)
    return {
      sentence: 'does not have it yet: its webhook gets the event now.',
      nextStep: 'It polls when it has got the event.',
    };
  return {
    sentence: (
      <>
        does not have it: its webhook got the event <Time at={lastEventAt} />, but it has not polled since.
      </>
    ),
    nextStep: 'Check that the automation is switched on, and look there for errors.',
    isStuck: true,
  };
}

function describePoller(consumer: PolledConsumer, { createdAt }: LeadTimes): Description {
  const { lastPollAt, usualIntervalS, pendingLeads, isThisToken } = consumer;
  if (isStopped(consumer))
    return {
      sentence: (
        <>
          does not have it: it stopped polling <Time at={lastPollAt} />.
        </>
      ),
      // The token of this console works.
      nextStep: `Check that the automation is switched on. If it is, look there for ${isThisToken ? 'errors' : 'an error 401: its token may have expired'}.`,
      isStuck: true,
    };
  if (lastPollAt < createdAt)
    return {
      sentence: (
        <>
          does not have it yet: it last polled <Time at={lastPollAt} />, before this lead came.
        </>
      ),
      nextStep: `It gets it with its next poll${usualIntervalS === null ? '' : `; it usually polls every ${formatDuration(usualIntervalS * 1000)}`}.`,
    };
  return {
    sentence: `does not have it yet: it polls, but first reads older leads. ${formatPending(pendingLeads)} for it.`,
    nextStep: 'If that number does not fall, look in the platform for errors.',
  };
}
