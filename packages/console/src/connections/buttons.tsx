/** What a person can do about a connection. A button shows the command instead where the token of this page may not do it. */
import { CONNECTIONS_PATH, MAX_HOOK_NAME_LENGTH, PHRASES, UNASSIGNED_ID } from '@leadtap/contract';
import { effect, signal, useSignal } from '@preact/signals';
import type { JSX, TargetedEvent } from 'preact';
import { write } from '../ask.ts';
import { isFocusLost } from '../focus.ts';
import { explain } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { toLeadtapError } from '../service.ts';
import { session } from '../session.ts';
import { formatCount } from '../text.tsx';
import { type Connection, checkNow, hasLog, isOut } from './list.ts';
import { logHref } from './opened-log.ts';
import { showFix } from './row.tsx';
import { shownOwed } from './shown-owed.ts';

/** Of the last change of each connection, by its id. */
const results = signal<Readonly<Record<string, string>>>({});
const pending = signal('');

// They belong to the token.
effect(() => {
  session.value;
  results.value = {};
});

const SHOWN_MS = 30_000;

function say(id: string, text: string): void {
  results.value = { ...results.peek(), [id]: text };
  if (text !== '') setTimeout(() => results.peek()[id] === text && say(id, ''), SHOWN_MS);
}

interface Change {
  readonly id: string;
  readonly method?: 'PATCH';
  /** Below the address of the connection. */
  readonly path?: string;
  readonly content?: object;
  /** What is said when it is done. */
  readonly done: string;
}

/** Whether the service has done it. The result is in the row. */
async function change({ id, method, path = '', content, done }: Change): Promise<boolean> {
  if (pending.peek() !== '') return false;
  pending.value = id;
  try {
    await write(method ?? 'POST', `${CONNECTIONS_PATH}/${encodeURIComponent(id)}${path}`, content);
    say(id, done);
    return true;
  } catch (thrown) {
    const error = toLeadtapError(thrown);
    // Of a name, the reason says more than the title.
    say(id, `Not done: ${error.status === 400 ? error.message : `${explain(error).title}.`}`);
    if (error.status !== undefined && error.status < 500) showFix(id);
    return false;
  } finally {
    pending.value = '';
    checkNow();
    // The row may have lost its button.
    setTimeout(() => {
      if (isFocusLost()) document.querySelector<HTMLElement>(`a[href="${CSS.escape(logHref(id))}"]`)?.focus();
    }, 500);
  }
}

const isOwn = ({ id, userId }: Connection): boolean => userId === session.value?.claims.userId || !hasLog(id);

const mayBeHandled = (connection: Connection): boolean => {
  if (connection.action === 'handled') return true;
  if (!isOut(connection)) return connection.lost > 0 && hasLog(connection.id);
  const { missed, waiting, state } = connection;
  return missed > 0 || (waiting > 0 && ['new', 'silent', 'ended'].includes(state));
};

/** The leads that it was not sent, if its row says so. */
const owedCount = (connection: Connection): number => {
  if (!isOut(connection)) return 0;
  const { id, missed, waiting, state, level } = connection;
  if (id === UNASSIGNED_ID || state === 'ended') return missed + waiting;
  return missed > 0 || level === 'error' || level === 'warning' ? missed + waiting : 0;
};

/** Those that its row speaks of. */
const shownCount = (connection: Connection): number =>
  isOut(connection) ? connection.missed : connection.held || connection.lost;

interface ButtonsProps {
  readonly connection: Connection;
  /** On the page of its log: what is seldom done, too. */
  readonly isWhole?: boolean;
}

export function Buttons({ connection, isWhole = false }: ButtonsProps): JSX.Element {
  const { id, action, state } = connection;
  const isWebhook = isOut(connection) && connection.kind === 'webhook';
  const missed = isOut(connection) ? connection.missed : 0;
  const isPaused = state === 'paused';
  const shown = hasLog(id) ? shownCount(connection) : 0;
  const button = (label: string, of: Omit<Change, 'id'>, title?: string) => (
    <button
      type="button"
      class="small"
      title={title}
      aria-disabled={pending.value === id}
      onClick={() => (isOwn(connection) ? void change({ id, ...of }) : showFix(id))}
    >
      {label}
    </button>
  );
  return (
    <>
      {owedCount(connection) > 0 ? (
        <button
          type="button"
          class="small chevron"
          aria-expanded={shownOwed.value === id}
          onClick={() => {
            shownOwed.value = shownOwed.peek() === id ? '' : id;
          }}
        >
          Show {owedCount(connection).toLocaleString('en')}
        </button>
      ) : (
        !isWhole &&
        shown > 0 && (
          <a class="button small" href={logHref(id)}>
            Show {shown.toLocaleString('en')}
          </a>
        )
      )}
      {action === 'connect' && (
        <a class="button small" href={hrefOf('connect')}>
          {id === UNASSIGNED_ID ? 'Choose where' : 'Connect'}
        </a>
      )}
      {isWebhook &&
        missed > 0 &&
        button(
          `Send ${missed.toLocaleString('en')}`,
          { path: '/send', content: { missed: true }, done: sendingText(missed, connection.host) },
          `${formatCount(missed)} to ${connection.host}. A person may be contacted twice.`,
        )}
      {isPaused && button('Go on', { method: 'PATCH', content: { paused: false }, done: 'It goes on.' })}
      {mayBeHandled(connection) &&
        button(
          state === 'new' && hasLog(id) ? 'It was a test' : PHRASES.handled,
          { path: '/handled', done: 'Marked as handled.' },
          'Nothing is deleted.',
        )}
      {isWhole &&
        isWebhook &&
        isOwn(connection) &&
        !isPaused &&
        state !== 'ended' &&
        button('Pause', { method: 'PATCH', content: { paused: true }, done: 'Paused. Leads wait, safe.' })}
      {isWhole && isOwn(connection) && <Rename connection={connection} />}
      <span class="result" role="status">
        {results.value[id]}
      </span>
    </>
  );
}

/** Whether the service has accepted it. */
export const sendLeads = (id: string, leads: readonly string[]): Promise<boolean> =>
  change({ id, path: '/send', content: { leads }, done: '' });

export const sendingText = (count: number, host: string | null): string =>
  `${formatCount(count)} will be sent${host === null ? '' : ` to ${host}`}. A person may be contacted twice.`;

interface SendAgainProps {
  readonly connection: Connection | undefined;
  readonly leadIds: readonly string[];
  readonly children?: string;
}

/** Leads of a log, or one lead, to a webhook. */
export function SendAgain({
  connection,
  leadIds,
  children = 'Send again',
}: SendAgainProps): JSX.Element | null {
  const isAsked = useSignal(false);
  if (!connection || !isOut(connection) || connection.kind !== 'webhook' || !isOwn(connection)) return null;
  const { id, host } = connection;
  const done = sendingText(leadIds.length, host);
  const onClick = () => {
    isAsked.value = true;
    void change({ id, path: '/send', content: { leads: leadIds }, done });
  };
  return (
    <>
      <button type="button" class="small" title={done} onClick={onClick}>
        {children}
      </button>{' '}
      <span role="status">{isAsked.value && results.value[id]}</span>
    </>
  );
}

function Rename({ connection: { id, name } }: Pick<ButtonsProps, 'connection'>): JSX.Element {
  const isOpen = useSignal(false);
  const toggle = () => {
    isOpen.value = !isOpen.value;
  };
  if (!isOpen.value)
    return (
      <button type="button" class="small" onClick={toggle}>
        Rename
      </button>
    );
  const onSubmit = async (event: TargetedEvent<HTMLFormElement, SubmitEvent>) => {
    event.preventDefault();
    const given = String(new FormData(event.currentTarget).get('name')).trim();
    isOpen.value = !(await change({ id, method: 'PATCH', content: { name: given }, done: 'Renamed.' }));
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
        Save
      </button>
      <button type="button" class="small" onClick={toggle}>
        Cancel
      </button>
    </form>
  );
}

/** A function of its own: it is then called when the field appears, not at each change. */
const focusOnce = (field: HTMLInputElement | null): void => field?.select();
