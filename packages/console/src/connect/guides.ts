/** Texts that few pages need: a file of their own. The steps of all platforms, with the address of this service, and those of the contract. */

import { path } from 'virtual:platforms';
import { signal } from '@preact/signals';
import type { HeaderTexts } from '../explore/header-texts.ts';
import { baseUrl, observedFetch } from '../service.ts';
import { PLACEHOLDERS } from './placeholders.ts';
import { addressOf, type Platform } from './platforms.ts';

interface Guides {
  /** Of problems, by code. */
  readonly titles: Readonly<Record<string, string>>;
  readonly nextSteps: Readonly<Record<string, string>>;
  /** For people who have a token and build no requests. */
  readonly ownNextSteps: Readonly<Record<string, string>>;
  /** By the name of the header. */
  readonly headers: HeaderTexts;
  readonly withHooks: readonly Platform[];
  readonly withoutHooks: readonly Platform[];
  /** Programs that check the signature of a webhook. */
  readonly verification: { readonly node: string; readonly python: string };
}

/** Undefined until they are loaded. */
export const guides = signal<Guides | undefined>(undefined);
export const hasFailed = signal(false);

export async function loadGuides(): Promise<void> {
  if (guides.value) return;
  hasFailed.value = false;
  try {
    const response = await observedFetch(new URL(path, import.meta.url).href, { headers: {} });
    const address = addressOf(baseUrl);
    let text = await response.text();
    for (const key of ['baseUrl', 'host', 'path'] as const)
      text = text.replaceAll(PLACEHOLDERS[key], () => JSON.stringify(address[key]).slice(1, -1));
    guides.value = JSON.parse(text) as Guides;
  } catch {
    hasFailed.value = true;
  }
}
