import { MAX_HOOK_NAME_LENGTH } from '@leadtap/contract';
import { useSignal } from '@preact/signals';
import type { JSX, TargetedEvent } from 'preact';
import { renameHook, unsubscribe } from '../connect/subscriptions.ts';

interface HookProps {
  readonly id: string;
  readonly name: string;
  /** The token of this page has subscribed it: no other one may rename it. */
  readonly isOwn: boolean;
}

/** What can be done with a webhook that gets leads. */
export const HookButtons = (hook: HookProps): JSX.Element => (
  <div class="consumer-buttons">
    {hook.isOwn && <Rename {...hook} />}
    <Unsubscribe {...hook} />
  </div>
);

function Rename({ id, name }: HookProps): JSX.Element {
  const state = useSignal<'closed' | 'open' | 'sending' | 'failed'>('closed');
  const close = () => {
    state.value = 'closed';
  };
  if (state.value === 'closed')
    return (
      <button
        type="button"
        class="small"
        onClick={() => {
          state.value = 'open';
        }}
      >
        Rename
      </button>
    );
  const onSubmit = async (event: TargetedEvent<HTMLFormElement, SubmitEvent>) => {
    event.preventDefault();
    const given = String(new FormData(event.currentTarget).get('name')).trim();
    state.value = 'sending';
    state.value = (await renameHook(id, given)) ? 'closed' : 'failed';
  };
  return (
    <form class="rename" onSubmit={onSubmit} autocomplete="off">
      <input
        name="name"
        required
        pattern=".*\S.*"
        maxLength={MAX_HOOK_NAME_LENGTH}
        aria-label="New name"
        defaultValue={name}
        ref={focusOnce}
      />
      <button type="submit" class="small">
        {state.value === 'sending' ? 'Renaming…' : 'Save'}
      </button>
      <button type="button" class="small" onClick={close}>
        Cancel
      </button>
      <span role="status">{state.value === 'failed' && 'Not renamed. Try again.'}</span>
    </form>
  );
}

/** A function of its own: it is then called when the field appears, not at each change. */
const focusOnce = (field: HTMLInputElement | null): void => field?.select();

/** Asks before it does so. */
function Unsubscribe({ id }: HookProps): JSX.Element {
  const state = useSignal<keyof typeof UNSUBSCRIBE_LABELS>('idle');
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
