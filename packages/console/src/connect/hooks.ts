/** Whether this service sends webhooks. */
import { HOOKS_HEADER } from '@leadtap/contract';
import { signal } from '@preact/signals';
import { baseUrl, observedFetch } from '../service.ts';

/** Undefined until the service has answered. */
export const hasHooks = signal<boolean | undefined>(undefined);

const TIMEOUT_MS = 3000;

/** It needs no token, and counts for no limit. */
export async function askForHooks(): Promise<void> {
  const request = { method: 'HEAD', headers: {}, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const response = await observedFetch(`${baseUrl}/`, request).catch(() => undefined);
  hasHooks.value = response ? response.headers.has(HOOKS_HEADER) : (hasHooks.value ?? false);
}
