import type { Consumer } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { unsubscribe } from '../connect/subscriptions.ts';
import { Text, visible } from '../text.tsx';
import { consumerKeyOf } from './expected.ts';

export type Level = Consumer['level'];

const SIGNS: Readonly<Record<Level, readonly [sign: string, word: string]>> = {
  good: ['✓', 'Good'],
  warning: ['!', 'Warning'],
  error: ['✗', 'Problem'],
  unknown: ['?', 'Not known'],
  inactive: ['–', 'Inactive'],
};

export function Sign({ level }: { readonly level: Level }): JSX.Element {
  const [sign, word] = SIGNS[level];
  return (
    <>
      <span class={`sign ${level}`} aria-hidden="true">
        {sign}
      </span>
      <span class="vh">{word}: </span>
    </>
  );
}

/** The name that the token was issued with. A webhook that gets leads has its host beside it. */
export function ConsumerName({ consumer: { name, tokenId, hook } }: ConsumerProps): JSX.Element {
  return (
    <>
      {name === null ? (tokenId ?? 'A token without an id') : <bdi>{visible(name)}</bdi>}
      {hook?.host && <span class="soft"> → {visible(hook.host)}</span>}
    </>
  );
}

interface ConsumerProps {
  readonly consumer: Consumer;
}

interface DiagnosisRowProps {
  readonly level: Level;
  readonly name: ComponentChildren;
  readonly message: string;
  readonly fix: string | null;
  /** Behind the message. */
  readonly children?: ComponentChildren;
  readonly button?: ComponentChildren;
}

/** A consumer or a sender as the service diagnoses it: its level, and what it says about it. What to do is shown on demand. */
export function DiagnosisRow({
  level,
  name,
  message,
  fix,
  children,
  button,
}: DiagnosisRowProps): JSX.Element {
  const isOpen = useSignal(false);
  const id = useId();
  return (
    <li class="consumer">
      <Sign level={level} />
      <b class="consumer-name">{name}</b>
      <span class={`consumer-message ${level}`}>
        <Text>{visible(message)}</Text> {children}
      </span>
      {(fix !== null || button) && (
        <span class="consumer-buttons">
          {fix !== null && (
            <button
              type="button"
              class="small"
              aria-expanded={isOpen.value}
              aria-controls={id}
              onClick={() => {
                isOpen.value = !isOpen.value;
              }}
            >
              What to do
            </button>
          )}
          {button}
        </span>
      )}
      {fix !== null && (
        <p class="consumer-fix" id={id} hidden={!isOpen.value}>
          <Text>{visible(fix)}</Text>
        </p>
      )}
    </li>
  );
}

export function ConsumerRow({ consumer }: ConsumerProps): JSX.Element {
  const { isThisToken, hook } = consumer;
  const ownHookId = isThisToken ? hook?.id : null;
  return (
    <DiagnosisRow
      {...consumer}
      name={<ConsumerName consumer={consumer} />}
      button={ownHookId && <Unsubscribe id={ownHookId} />}
    >
      {isThisToken && !ownHookId && '(with the token of this console)'}
    </DiagnosisRow>
  );
}

/** Asks before it does so. */
function Unsubscribe({ id }: { readonly id: string }): JSX.Element {
  const state = useSignal<'idle' | 'asked' | 'sending' | 'failed'>('idle');
  const onClick = async () => {
    if (state.value !== 'asked') {
      state.value = 'asked';
      return;
    }
    state.value = 'sending';
    if (!(await unsubscribe(id))) state.value = 'failed';
  };
  return (
    <button type="button" class="small" aria-disabled={state.value === 'sending'} onClick={onClick}>
      {UNSUBSCRIBE_LABELS[state.value]}
    </button>
  );
}

const UNSUBSCRIBE_LABELS = {
  idle: 'Unsubscribe',
  asked: 'Really unsubscribe?',
  sending: 'Unsubscribing…',
  failed: 'Not done. Try again',
} as const;

const ORDER: readonly Level[] = ['error', 'warning', 'unknown', 'good'];

/** The worst first. Those that are not in use are folded. */
export function ConsumerRows({ consumers }: { readonly consumers: readonly Consumer[] }): JSX.Element {
  const used = ORDER.flatMap((level) => consumers.filter((consumer) => consumer.level === level));
  const inactive = consumers.filter(({ level }) => level === 'inactive');
  const renderRows = (shown: readonly Consumer[]) => (
    <ul class="consumers">
      {shown.map((consumer) => (
        <ConsumerRow key={consumerKeyOf(consumer)} consumer={consumer} />
      ))}
    </ul>
  );
  return (
    <>
      {used.length > 0 && renderRows(used)}
      {inactive.length > 0 && (
        <details class="unused">
          <summary>{inactive.length} not in use</summary>
          {renderRows(inactive)}
        </details>
      )}
    </>
  );
}
