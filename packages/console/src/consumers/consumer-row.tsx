import type { Consumer } from '@leadtap/contract';
import type { JSX } from 'preact';
import { DiagnosisRow } from '../diagnosis/rows.tsx';
import { logHref } from '../log/href.ts';
import { visible } from '../text.tsx';
import { HookButtons } from './hook-buttons.tsx';

interface ConsumerProps {
  readonly consumer: Consumer;
}

export const nameOfConsumer = ({ name, tokenId }: Consumer): string =>
  name === null ? (tokenId ?? 'A token without an id') : visible(name);

/** A webhook that gets leads has its host beside its name. */
export function ConsumerName({ consumer }: ConsumerProps): JSX.Element {
  const { name, hook } = consumer;
  return (
    <>
      <bdi>{nameOfConsumer(consumer)}</bdi>
      {hook?.host && hook.host !== name && <span class="soft"> → {visible(hook.host)}</span>}
    </>
  );
}

interface ConsumerRowProps extends ConsumerProps {
  /** When the service answered, to show its last 24 hours. */
  readonly now?: number;
  readonly isOpen?: boolean;
}

export function ConsumerRow({ consumer, now, isOpen = false }: ConsumerRowProps): JSX.Element {
  const { id, name, isThisToken, hook, last24h } = consumer;
  const hookId = hook?.id;
  return (
    <DiagnosisRow
      {...consumer}
      label={<ConsumerName consumer={consumer} />}
      href={logHref('consumers', id)}
      {...(now !== undefined && { hours: last24h, now })}
      isOpen={isOpen}
      buttons={hookId && <HookButtons id={hookId} name={name ?? ''} isOwn={isThisToken} />}
    >
      {isThisToken && !hookId && '(with the token of this console)'}
    </DiagnosisRow>
  );
}
