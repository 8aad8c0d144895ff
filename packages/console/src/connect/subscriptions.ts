/** Webhooks that get the leads themselves, subscribed with the token of this page. */
import type { LeadtapError } from '@leadtap/client';
import { HOOKS_PATH, type SubscribedHook } from '@leadtap/contract';
import { effect, signal } from '@preact/signals';
import { checkNow } from '../consumers/consumer-list.ts';
import { chosenKeys } from '../consumers/expected.ts';
import { baseUrl, observedFetch, toConnectionError, toResponseError } from '../service.ts';
import { session } from '../session.ts';

export type Subscription =
  | { readonly kind: 'sending' }
  | { readonly kind: 'failed'; readonly error: LeadtapError }
  /** `isNew`: false if the address was subscribed before. */
  | { readonly kind: 'subscribed'; readonly hook: SubscribedHook; readonly isNew: boolean };

/** Of the page that was opened last, which has this name. */
export const subscription = signal<({ readonly name: string } & Subscription) | undefined>(undefined);

const TIMEOUT_MS = 30_000;

// The secret belongs to the token.
effect(() => {
  session.value;
  subscription.value = undefined;
});

/** `name`: of the page; `label`: what the visitor calls the webhook. */
export async function subscribe(name: string, url: string, label: string): Promise<void> {
  const subscriber = session.peek();
  if (!subscriber || subscription.peek()?.kind === 'sending') return;
  subscription.value = { name, kind: 'sending' };
  const result = await post(subscriber.token, { url, send: 'lead', name: label });
  if (session.peek() !== subscriber) return;
  subscription.value = { name, ...result };
  if (result.kind !== 'subscribed') return;
  chosenKeys.value = { ...chosenKeys.value, [name]: result.hook.id };
  checkNow();
}

async function post(token: string, request: object): Promise<Subscription> {
  try {
    const response = await observedFetch(`${baseUrl}${HOOKS_PATH}`, {
      method: 'POST',
      headers: headersOf(token),
      body: JSON.stringify(request),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body: SubscribedHook | undefined = await response.json().catch(() => undefined);
    return response.ok && body?.secret
      ? { kind: 'subscribed', hook: body, isNew: response.status === 201 }
      : { kind: 'failed', error: toResponseError(response, body) };
  } catch (cause) {
    return { kind: 'failed', error: toConnectionError(cause) };
  }
}

const headersOf = (token = '') => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});

/** Whether the service has given it the name. */
export async function renameHook(id: string, name: string): Promise<boolean> {
  const response = await observedFetch(`${baseUrl}${HOOKS_PATH}/${id}`, {
    method: 'PATCH',
    headers: headersOf(session.peek()?.token),
    body: JSON.stringify({ name }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  checkNow();
  return response?.ok === true;
}

/** Whether the service has deleted it. */
export async function unsubscribe(id: string): Promise<boolean> {
  const response = await observedFetch(`${baseUrl}${HOOKS_PATH}/${id}`, {
    method: 'DELETE',
    headers: {},
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  const current = subscription.peek();
  if (current?.kind === 'subscribed' && current.hook.id === id) subscription.value = undefined;
  checkNow();
  return response?.ok === true;
}
