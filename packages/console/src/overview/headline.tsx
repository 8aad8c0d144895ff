import type { JSX } from 'preact';
import { consumerList, listDelay } from '../consumers/consumer-list.ts';
import { nameOfConsumer } from '../consumers/consumer-row.tsx';
import { LEVELS, type Level, Sign } from '../diagnosis/level.tsx';
import { isProblem } from '../diagnosis/rows.tsx';
import { feedState } from '../feed.ts';
import { senderList } from '../senders/sender-list.ts';
import { nameOfSender } from '../senders/sender-row.tsx';

/** Whether what is shown is known to be true now. */
export const isCurrent = (): boolean => feedState.value.kind !== 'retrying' && listDelay.value === undefined;

interface Sentence {
  /** None: there is nothing to judge yet. */
  readonly level?: Level;
  readonly text: string;
  readonly rest?: string | undefined;
}

/** One sentence for all. It is shown only while it is known to be true. */
export function Headline(): JSX.Element {
  const { level, text, rest } = sentenceOf();
  return (
    <div class="headline-box" role="status">
      <h1 class={`headline ${level ?? ''}`}>
        {text === '' ? (
          <span class="after-200ms">Asking the service…</span>
        ) : (
          <>
            {level && <Sign level={level} />} <span>{text}</span>
          </>
        )}
      </h1>
      {rest && <p>{rest}</p>}
    </div>
  );
}

function sentenceOf(): Sentence {
  const list = consumerList.value;
  if (!isCurrent()) return { level: 'unknown', text: 'Not known right now' };
  switch (list.kind) {
    case 'loading':
      return { text: '' };
    case 'not-recorded':
      return { level: 'unknown', text: 'This service does not record who polls' };
    case 'failed':
      return { level: 'unknown', text: 'The automations could not be checked' };
    case 'listed':
      return judge(list);
  }
}

/** What is wrong is in the rows: the headline counts them. Else it is the sentence of the service. */
function judge({ consumers, summary }: Listed): Sentence {
  const senders = senderList.value.kind === 'listed' ? senderList.value.senders : [];
  const all = [
    ...consumers.map((consumer) => ({ ...consumer, label: nameOfConsumer(consumer) })),
    ...senders.map((sender) => ({ ...sender, label: nameOfSender(sender) })),
  ].filter(({ level }) => level !== 'inactive');
  const problems = all.filter(isProblem);
  const [first] = problems;
  // The first sentence is the answer.
  const [answer = '', more] = summary.message.split(/(?<=\.) (.*)/s);
  if (!first)
    return consumers.length === 0
      ? {
          text: 'Connect your first automation',
          rest: 'It then gets each new lead, and this page shows whether it did.',
        }
      : { level: summary.level, text: answer, rest: more };
  const good = all.filter(({ level }) => level === 'good').length;
  return {
    level: LEVELS.find((level) => problems.some((problem) => problem.level === level)) ?? 'error',
    text:
      problems.length === 1
        ? `${first.label} needs attention`
        : `${problems.length} of ${all.length} connections need attention`,
    rest: consumers.some(isProblem) || consumers.length === 0 ? goodText(good) : summary.message,
  };
}

type Listed = Extract<typeof consumerList.value, { kind: 'listed' }>;

const goodText = (count: number): string | undefined =>
  count === 0 ? undefined : `${count === 1 ? '1 other works' : `${count} others work`}.`;
