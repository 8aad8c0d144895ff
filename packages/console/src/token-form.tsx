import { useSignal } from '@preact/signals';
import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { focusMain, isFocusLost } from './focus.ts';
import { Option } from './option.tsx';
import { cleanToken, connect, isKept, isReloaded, setKept } from './session.ts';

/** Three parts with dots between them. Only the service knows whether it is valid. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Asks for the token. The field is emptied at once, and browsers are asked not to keep or check what is typed. */
export function TokenForm(): JSX.Element {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const isRejected = useSignal(false);
  useEffect(() => {
    // At the start, and when the part of the page that had the focus was replaced by this form.
    if (isFocusLost()) input.current?.focus({ preventScroll: true });
  }, []);
  const onSubmit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const field = event.currentTarget.elements.namedItem('pasted');
    if (!(field instanceof HTMLInputElement)) return;
    const pasted = field.value;
    isRejected.value = !TOKEN.test(cleanToken(pasted));
    if (isRejected.value) return field.select();
    field.value = '';
    connect(pasted);
    focusMain();
  };
  return (
    <form class="token-form" onSubmit={onSubmit} autocomplete="off">
      {isReloaded.value && (
        <p class="note" role="status">
          This page was loaded again, and the token with it is lost: the console keeps it only in the memory
          of the open page, unless you choose otherwise. Paste it again.
        </p>
      )}
      <label for={id}>Paste the token you were given</label>
      <div class="token-row">
        <input
          id={id}
          ref={input}
          name="pasted"
          type="text"
          required
          autocomplete="off"
          autocapitalize="off"
          autocorrect="off"
          spellcheck={false}
          aria-invalid={isRejected.value}
          aria-describedby={`${id}-error ${id}-about`}
        />
        <button type="submit" class="primary">
          Check it
        </button>
      </div>
      <p id={`${id}-error`} class="token-error" role="alert">
        {isRejected.value &&
          'This is not a token. A token is one long text of three parts with dots between them, usually beginning with eyJ.'}
      </p>
      <p id={`${id}-about`} class="faint">
        The token is sent to this service only, and forgotten when you close the page.
      </p>
      <KeepInTab />
    </form>
  );
}

/** The choice, with the reason against it. */
export const KeepInTab = (): JSX.Element => (
  <Option title="Keep the token in this tab" isOn={isKept.value} onChange={setKept}>
    A reload then does not ask for it. Leave this off on a computer that others use: the browser stores the
    token until you forget it or close the tab, and a duplicated or reopened tab has it, too.
  </Option>
);
