import { acceptedKeysOf, loadSigningKeys } from '../../accounts/signing-keys.ts';
import type { Config } from '../../config.ts';
import { type Hook, type HookStore, withAcceptedKeys } from '../../hooks/store.ts';
import { toIso } from '../../lib/clock.ts';
import { quoteForShell } from '../../lib/escape.ts';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../exit.ts';
import { withInvocation } from '../invocation.ts';

/** The webhook subscriptions, with what the keys of this machine say about their tokens. */
export async function hooksOf(store: Store, config: Config): Promise<HookStore> {
  // Without a key file, nothing can be said.
  const keys = await loadSigningKeys(config.signingKey, { create: false }).catch(() => undefined);
  return keys ? withAcceptedKeys(store.hooks, acceptedKeysOf(keys, config.externalTokens)) : store.hooks;
}

export async function findHook(hooks: HookStore, id: string): Promise<Hook> {
  const hook = await hooks.find(id);
  if (hook) return hook;
  const fix = '`leadtap hooks list` shows all of them. A subscription ends with its token.';
  throw new Failure('not-found', `there is no webhook subscription ${id}`, fix);
}

/** Creates it again, and sends the leads after this time. In a line of its own: its name may contain a command. */
export function addAgainCommand(
  { userId, url, send, name }: Pick<Hook, 'userId' | 'url' | 'send' | 'name'>,
  since: number,
  context: CommandContext,
): string {
  const given = { user: userId, url, send: send === 'lead' ? null : send, name, since: toIso(since) };
  const flags = Object.entries(given).flatMap(([flag, value]) =>
    value === null ? [] : [`--${flag} ${quoteForShell(value)}`],
  );
  return `${withInvocation('  leadtap hooks add', context)} ${flags.join(' ')}`;
}
