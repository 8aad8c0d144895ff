/** Connects an address: webhooks that get the leads themselves, with the token of this page. */
import type { LeadtapError } from '@leadtap/client';
import { HOOKS_PATH, MAX_HOOK_NAME_LENGTH, type SubscribedHook } from '@leadtap/contract';
import { effect, signal, useSignal } from '@preact/signals';
import type { JSX, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';
import { write } from '../ask.ts';
import { expiryOf } from '../claims.ts';
import { now } from '../clock.ts';
import { checkNow } from '../connections/list.ts';
import { Problem } from '../problem.tsx';
import { toLeadtapError } from '../service.ts';
import { session } from '../session.ts';
import { CopyButton, shellWord, Text } from '../text.tsx';
import { formatDay, formatRelative } from '../time.tsx';
import { guides } from './guides.ts';
import { Snippet } from './snippet.tsx';

type Subscription =
  | { readonly kind: 'sending' }
  | { readonly kind: 'failed'; readonly error: LeadtapError }
  /** `isNew`: false if the address was connected before. */
  | {
      readonly kind: 'done';
      readonly label: string;
      readonly secret: string;
      readonly isNew: boolean;
    };

/** Of the page that was opened last, which has this name. */
export const subscription = signal<({ readonly name: string } & Subscription) | undefined>(undefined);

// The secret belongs to the token.
effect(() => {
  session.value;
  subscription.value = undefined;
});

/** `name`: of the page; `label`: what the visitor calls the webhook. */
async function subscribe(name: string, url: string, label: string): Promise<void> {
  const owner = session.peek();
  if (!owner || subscription.peek()?.kind === 'sending') return;
  subscription.value = { name, kind: 'sending' };
  const result = await post({ url, send: 'lead', name: label });
  if (session.peek() !== owner) return;
  subscription.value = { name, ...result };
  checkNow();
}

async function post(request: {
  readonly name: string;
  readonly url: string;
  readonly send: 'lead';
}): Promise<Subscription> {
  try {
    const { status, body = {} } = await write<SubscribedHook>('POST', HOOKS_PATH, request, 'secret');
    const { name, secret = '' } = body;
    return { kind: 'done', label: name ?? request.name, secret, isNew: status === 201 };
  } catch (thrown) {
    return { kind: 'failed', error: toLeadtapError(thrown) };
  }
}

interface HookFormProps {
  /** Of the page. */
  readonly name: string;
  /** What the address is called there. */
  readonly label: string;
  /** Whether its button is the main one of the page. */
  readonly isPrimary?: boolean;
}

/** Connects an address: from then on each new lead is sent to it. */
export function HookForm({ name, label, isPrimary = false }: HookFormProps): JSX.Element {
  const id = useId();
  const url = useSignal('');
  const chosenLabel = useSignal<string | undefined>(undefined);
  // Of any URL, its host says most.
  const shownLabel = chosenLabel.value ?? (isPrimary ? hostOf(url.value) : name);
  const { value: current } = subscription;
  const state = current?.name === name ? current : undefined;
  const onSubmit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    void subscribe(name, url.value.trim(), shownLabel.trim() || name);
  };
  return (
    <>
      <form class="hook-form" onSubmit={onSubmit} autocomplete="off">
        <label>
          {label}
          <input
            type="text"
            inputMode="url"
            required
            placeholder="https://…"
            spellcheck={false}
            value={url.value}
            aria-describedby={`${id}-about`}
            onInput={({ currentTarget }) => {
              url.value = currentTarget.value;
            }}
          />
        </label>
        <label>
          Call it
          <input
            type="text"
            maxLength={MAX_HOOK_NAME_LENGTH}
            value={shownLabel}
            onInput={({ currentTarget }) => {
              chosenLabel.value = currentTarget.value;
            }}
          />
        </label>
        <button
          type="submit"
          class={isPrimary ? 'primary' : undefined}
          aria-disabled={state?.kind === 'sending'}
        >
          {state?.kind === 'sending' ? 'Connecting…' : 'Connect'}
        </button>
        <p id={`${id}-about`} class="faint">
          New leads from now on, each in a request of its own: the body is the lead. Each is sent until the
          address accepts it, in order, so none is lost.
        </p>
      </form>
      <Lifetime url={url.value} />
      <Result state={state} />
    </>
  );
}

const hostOf = (url: string): string => {
  const trimmed = url.trim();
  return URL.canParse(trimmed) ? new URL(trimmed).hostname : '';
};

/** A webhook ends with its token. If that is soon, the operator makes one with a token of its own. */
function Lifetime({ url }: { readonly url: string }): JSX.Element | null {
  const { expiresAt, userId = 'ID' } = session.value?.claims ?? {};
  if (expiresAt === undefined) return null;
  if (expiryOf(expiresAt, now.value) === 'later')
    return <p class="faint">It ends with the token of this page, on {formatDay(expiresAt)}.</p>;
  return (
    <div class="note">
      <p>
        It ends with the token of this page, {formatRelative(expiresAt, now.value)}. For one that stays, the
        operator runs:
      </p>
      <Snippet
        code={`npx leadtap hooks add --user ${shellWord(userId)} --url ${shellWord(url.trim() || 'URL')}`}
      />
    </div>
  );
}

function Result({ state }: { readonly state: Subscription | undefined }): JSX.Element {
  return (
    <div role="status">
      {state?.kind === 'failed' && (
        <>
          <Problem error={state.error} isOfApi />
          {state.error.code === 'invalid-hook' && (
            <p>
              <Text>{state.error.message}</Text>
            </p>
          )}
        </>
      )}
      {state?.kind === 'done' && <Secret {...state} />}
    </div>
  );
}

function Secret({ secret, isNew }: Extract<Subscription, { kind: 'done' }>): JSX.Element {
  const { verification } = guides.value ?? {};
  return (
    <div class="secret">
      <p>
        <b>{isNew ? 'Connected.' : 'This address was connected before.'}</b> Its secret, which this page shows
        only now. A platform needs none; a program of yours checks with it that a request is of Leadtap.
      </p>
      <p>
        <code>{secret}</code> <CopyButton text={() => secret}>Copy secret</CopyButton>
      </p>
      {verification && (
        <details>
          <summary>Check the signature, in Node.js or Python</summary>
          <Snippet code={verification.node} />
          <Snippet code={verification.python} />
        </details>
      )}
    </div>
  );
}
