import type { JSX, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';
import { connect, isReloaded } from './session.ts';

/** Asks for the token. The field is emptied at once, and browsers are asked not to keep or check what is typed. */
export function TokenForm(): JSX.Element {
  const id = useId();
  const onSubmit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const field = event.currentTarget.elements.namedItem('pasted');
    if (!(field instanceof HTMLInputElement)) return;
    const pasted = field.value;
    field.value = '';
    connect(pasted);
  };
  return (
    <form class="token-form" onSubmit={onSubmit} autocomplete="off">
      {isReloaded.value && (
        <p class="note" role="status">
          This page was loaded again, and the token with it is lost: the console keeps it only in the memory
          of the open page, never in the browser. Paste it again.
        </p>
      )}
      <label for={id}>Paste the token you were given</label>
      <div class="token-row">
        <input
          id={id}
          name="pasted"
          type="text"
          required
          autocomplete="off"
          autocapitalize="off"
          autocorrect="off"
          spellcheck={false}
          aria-describedby={`${id}-about`}
        />
        <button type="submit" class="primary">
          Check it
        </button>
      </div>
      <p id={`${id}-about`} class="soft">
        The token is sent to this service only, and forgotten when you close the page.
      </p>
    </form>
  );
}
