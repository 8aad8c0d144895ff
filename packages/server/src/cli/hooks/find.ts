import type { Hook, HookStore } from '../../hooks/store.ts';
import { Failure } from '../failure.ts';

export async function findHook(hooks: HookStore, id: string): Promise<Hook> {
  const hook = await hooks.find(id);
  if (hook) return hook;
  const fix = '`leadtap hooks list` shows all of them. A subscription ends with its token.';
  throw new Failure('not-found', `there is no webhook subscription ${id}`, fix);
}
