import type { HookSend, SubscribedHook, Hook as WireHook } from '@leadtap/contract';
import { type ServiceOptions, startService, type TestService } from '../../../../testing/harness/service.ts';
import type { Receiver } from '../../../../testing/integrations/hook-receiver.ts';
import type { Hook } from '../../../src/hooks/store.ts';

export const ZAPIER_URL = 'https://hooks.zapier.com/hooks/standard/1/a/';

/** A service that may send events to this receiver. */
export const startWith = (
  { origin }: Pick<Receiver, 'origin'>,
  { env, ...options }: ServiceOptions = {},
): Promise<TestService> => startService({ ...options, env: { LEADTAP_HOOK_HOSTS: origin, ...env } });

/** A request to `/automation/hooks`, or below it. */
export const hooksRequest = (
  service: TestService,
  token: string | undefined,
  { path = '', ...init }: RequestInit & { path?: string } = {},
): Promise<Response> =>
  fetch(`${service.url}/automation/hooks${path}`, {
    ...init,
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...init.headers },
  });

export const postHook = (
  service: TestService,
  token: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  hooksRequest(service, token, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** Subscribes, and expects that it succeeds. */
export async function subscribe(
  service: TestService,
  token: string,
  url: string,
  since?: string,
  send?: HookSend,
): Promise<SubscribedHook> {
  const response = await postHook(service, token, { url, since, send });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as SubscribedHook;
}

export const readHook = async (service: TestService, token: string, id: string): Promise<WireHook> =>
  (await hooksRequest(service, token, { path: `/${id}` })).json() as Promise<WireHook>;

export async function storedHook({ store }: TestService, id: string): Promise<Hook> {
  const hook = await store.hooks.find(id);
  if (!hook) throw new Error('there is no such hook');
  return hook;
}
