import type { Lead, LeadtapError } from '@leadtap/client';
import type { Consumer } from '@leadtap/contract';
import { leadStateOf } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { logHrefOfLead } from '../log/href.ts';
import { explain, Problem } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { Text, visible } from '../text.tsx';
import { consumerList, isListOlderThan, listDelay, useConsumerList } from './consumer-list.ts';
import { ConsumerName } from './consumer-row.tsx';
import { consumerKeyOf } from './expected.ts';

const INTERVAL_MS = 30_000;
/** For a list that may be older than the lead. */
const FIRST_INTERVAL_MS = 2000;

interface WhoHasItProps {
  readonly lead: Pick<Lead, 'createdAt' | 'automation_created_at'>;
}

/** Which consumers of the user have the lead. */
export function WhoHasIt({ lead }: WhoHasItProps): JSX.Element {
  const openedAt = useRef(Date.now());
  const list = consumerList.value;
  const isOld =
    list.kind === 'listed' && list.readAt < openedAt.current && isListOlderThan(lead.createdAt, list.readAt);
  useConsumerList(isOld ? FIRST_INTERVAL_MS : INTERVAL_MS);
  return (
    <section class="who-has" aria-label="Who has it">
      <h2>Who has it</h2>
      {list.kind === 'listed' && !isOld ? (
        <LeadChips consumers={list.consumers} lead={lead} />
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

/** Why the list is not current. Default: that of the consumers. */
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

interface ListDelayProps {
  readonly delay?: LeadtapError | 'limit' | undefined;
}

interface LeadChipsProps extends WhoHasItProps {
  readonly consumers: readonly Consumer[];
}

/** More that have the lead are folded, with their number. */
const MAX_GOOD_CHIPS = 6;

/** A chip for each consumer that is in use, or has the lead: first those without it. A click shows the sentence. */
export function LeadChips({ consumers, lead }: LeadChipsProps): JSX.Element {
  const openKey = useSignal('');
  const isUnfolded = useSignal(false);
  const id = useId();
  const described = consumers
    .map((consumer) => ({ consumer, key: consumerKeyOf(consumer), ...describe(consumer, lead) }))
    .filter(({ consumer, hasLead }) => consumer.level !== 'inactive' || hasLead);
  const good = described.filter(({ tone }) => tone === 'good');
  const others = described.filter(({ tone }) => tone !== 'good');
  const isFoldable = good.length > MAX_GOOD_CHIPS;
  const chips = isFoldable && !isUnfolded.value ? others : [...others, ...good];
  const opened = chips.find(({ key }) => key === openKey.value);
  if (described.length === 0)
    return (
      <p>
        No automation gets leads with a token of this user. <a href={hrefOf('connect')}>Connect a platform</a>
      </p>
    );
  return (
    <>
      <ul class="chips">
        {chips.map(({ consumer, key, tone, label }) => (
          <li key={key}>
            <button
              type="button"
              class={`chip ${tone}`}
              aria-expanded={opened?.key === key}
              aria-controls={id}
              onClick={() => {
                openKey.value = openKey.value === key ? '' : key;
              }}
            >
              <ConsumerName consumer={consumer} /> <b>{label}</b>
            </button>
          </li>
        ))}
        {isFoldable && (
          <li>
            <button
              type="button"
              class="chip good"
              aria-expanded={isUnfolded.value}
              onClick={() => {
                isUnfolded.value = !isUnfolded.value;
              }}
            >
              + {good.length} have it <b>✓</b>
            </button>
          </li>
        )}
      </ul>
      <p class="chip-sentence" id={id} role="status">
        {opened && (
          <>
            <a href={logHrefOfLead(opened.consumer.id, lead.createdAt)}>
              <ConsumerName consumer={opened.consumer} />
            </a>{' '}
            <Text>{visible(opened.sentence)}</Text>
          </>
        )}
      </p>
    </>
  );
}

interface Description {
  readonly hasLead?: boolean;
  readonly tone: 'good' | 'warning' | 'error' | '';
  readonly label: string;
  readonly sentence: string;
}

/** The rule is that of the contract. Why a lead is pending is in the message of the service about the consumer. */
function describe(consumer: Consumer, lead: WhoHasItProps['lead']): Description {
  const { confirmedThrough, pendingLeads, level, problem, message, fix } = consumer;
  switch (leadStateOf(consumer, lead)) {
    case 'confirmed':
      return { hasLead: true, tone: 'good', label: '✓', sentence: 'has it, and has confirmed it.' };
    case 'delivered':
      if (confirmedThrough !== null && level === 'error' && problem !== 'leads-skipped')
        return {
          ...{ hasLead: true, tone: 'error', label: 'not confirmed' },
          sentence: [`received it, and does not confirm it: ${message.replace(/\.$/, '')}.`, fix ?? ''].join(
            ' ',
          ),
        };
      return {
        ...{ hasLead: true, tone: 'good', label: '✓' },
        sentence:
          confirmedThrough === null
            ? 'received it. It polls without `since`, so it never confirms a lead.'
            : 'received it. One of its next polls confirms it.',
      };
    case 'skipped':
      return describeSkipped(consumer, lead);
    case 'waiting':
      return {
        tone: level === 'warning' || level === 'error' ? level : '',
        label: pendingLeads > 0 ? `${formatUpTo(pendingLeads)} behind` : 'not yet',
        sentence: [`does not have it yet: ${message.replace(/\.$/, '')}.`, fix ?? ''].join(' '),
      };
  }
}

/** They are counted up to 1,000. */
const formatUpTo = (count: number): string => `${count.toLocaleString('en')}${count >= 1000 ? '+' : ''}`;

function describeSkipped(consumer: Consumer, lead: WhoHasItProps['lead']): Description {
  const { createdAt, automation_created_at: addedAt } = lead;
  const gap = consumer.gaps.find(({ after, through }) => (after ?? '') < createdAt && createdAt <= through);
  if (!gap || gap.isBeforeStart)
    return {
      ...{ tone: '', label: 'not sent' },
      sentence:
        createdAt === addedAt
          ? 'was never sent it: it started after this lead.'
          : 'was never sent it: this lead was imported as history, with a date in the past.',
    };
  if (consumer.confirmedThrough === null)
    return {
      ...{ tone: 'warning', label: 'not known' },
      sentence:
        'may not have it: it polls without `since`, and more leads came than its poll got. Look for it in the platform, and let it poll more often.',
    };
  return {
    ...{ tone: 'error', label: 'skipped' },
    sentence:
      'may not have it: it asked for what comes after it, or had got later leads before it could see this one: the lead was moved, or its access was widened. Look for it in the platform, and add it by hand if it is missing. Compare the settings of the automation with the steps in Connect.',
  };
}
