import type { Hook, HookStore } from '../../hooks/store.ts';
import { toIso } from '../../lib/clock.ts';
import { quoteForShell } from '../../lib/escape.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { withInvocation } from '../invocation.ts';

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
