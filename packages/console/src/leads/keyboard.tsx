import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { close, isPhone, open, place } from '../router.ts';
import { focusDetail } from './detail.tsx';
import { focusRow } from './rows.ts';
import { clearFilter, FILTER_ID, itemOf, openedId, shownLeads } from './selection.ts';

export const DAY_ID = 'lead-day';

const KEYS: readonly (readonly [key: string, does: string])[] = [
  ['j', 'next lead'],
  ['k', 'previous lead'],
  ['Enter', 'open the lead'],
  ['/', 'search'],
  ['d', 'choose a day'],
  ['Esc', 'clear the search, leave the lead'],
  ['?', 'this list'],
];

/** The row that has the focus, else the opened one. */
function currentIndex(): number {
  const focused =
    document.activeElement instanceof HTMLElement ? document.activeElement.dataset['lead'] : undefined;
  const id = focused ?? openedId.value;
  return shownLeads.value.findIndex(({ automation_trigger_id }) => automation_trigger_id === id);
}

function move(step: 1 | -1): void {
  const { value: shown } = shownLeads;
  const index = currentIndex();
  const next = index === -1 ? 0 : Math.min(Math.max(index + step, 0), shown.length - 1);
  const lead = shown[next];
  if (!lead) return;
  focusRow(lead.automation_trigger_id);
  if (!isPhone.value) open('leads', itemOf(lead), 'replace');
}

function leave(target: EventTarget | null): void {
  if (isPhone.value && place.value.item !== '') {
    close();
    return;
  }
  clearFilter();
  if (target instanceof HTMLElement && target.id === FILTER_ID) target.blur();
  // After the rows are back that the filter had removed.
  requestAnimationFrame(() => focusRow(openedId.value));
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input:not([type="checkbox"]), textarea, select');

/** The keys of the list, and the dialog that lists them. */
export function Keyboard(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const help = () => dialog.current?.showModal();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      if (key === 'Escape') return leave(target);
      if (isTyping(target)) return;
      const isButton = target instanceof HTMLElement && target.matches('a, button, summary, input');
      if (key === 'j') move(1);
      else if (key === 'k') move(-1);
      else if (key === 'Enter' && !isButton && place.value.item !== '') focusDetail();
      else if (key === '/') document.getElementById(FILTER_ID)?.focus();
      else if (key === 'd') document.getElementById(DAY_ID)?.focus();
      else if (key === '?') help();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <button
        type="button"
        class="keys"
        onClick={help}
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
      >
        ?
      </button>
      <dialog ref={dialog} aria-labelledby="keys-title">
        <h2 id="keys-title">Keyboard</h2>
        <dl>
          {KEYS.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}
