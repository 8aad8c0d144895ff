/** Whether this service sends webhooks. */
import { HOOKS_PATH } from '@leadtap/contract';
import { signal } from '@preact/signals';
import { baseUrl, observedFetch } from '../service.ts';

/** Undefined until the service has answered. */
export const hasHooks = signal<boolean | undefined>(undefined);

const TIMEOUT_MS = 3000;

/** The path rejects this method, or does not exist (`LEADTAP_HOOKS=off`). It needs no token, and counts for no limit. */
export async function askForHooks(): Promise<void> {
  const request = { method: 'HEAD', headers: {}, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const response = await observedFetch(`${baseUrl}${HOOKS_PATH}`, request).catch(() => undefined);
  hasHooks.value = response ? response.status === 405 : (hasHooks.value ?? false);
}
