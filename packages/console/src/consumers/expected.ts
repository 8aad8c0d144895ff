/** Which consumer is that of a platform. */

import type { Consumer } from '@leadtap/contract';
import { effect, signal } from '@preact/signals';
import { session } from '../session.ts';

/** The keys that the visitor has chosen, by the name of the platform. Empty: the one that has its name. */
export const chosenKeys = signal<Readonly<Record<string, string>>>({});

// The choice belongs to the tokens of this user.
effect(() => {
  session.value;
  chosenKeys.value = {};
});

/** A webhook that gets leads is a consumer of its own, beside its token. */
export const consumerKeyOf = ({ tokenId, hook }: Consumer): string => hook?.id ?? tokenId ?? 'no id';

const isNamed = ({ name }: Consumer, platform: string): boolean =>
  name?.trim().toLowerCase() === platform.toLowerCase();

/** Two tokens with the same name: only the visitor knows which one is meant. */
export const isNamedTwice = (consumers: readonly Consumer[], platform: string): boolean =>
  consumers.filter((consumer) => isNamed(consumer, platform)).length > 1;

/** The token of the platform has its name, unless the visitor says otherwise. */
export function tokenOf(consumers: readonly Consumer[], platform: string): Consumer | undefined {
  const chosen = chosenKeys.value[platform] ?? '';
  if (chosen !== '') return consumers.find((consumer) => consumerKeyOf(consumer) === chosen);
  if (isNamedTwice(consumers, platform)) return undefined;
  return consumers.find((consumer) => isNamed(consumer, platform));
}
