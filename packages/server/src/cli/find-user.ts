import type { User } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { Failure } from './failure.ts';

export async function findUser(store: Store, id: string): Promise<User> {
  const user = await store.findUser(id);
  if (!user) throw noSuchUser(id);
  return user;
}

export const noSuchUser = (id: string): Failure =>
  new Failure('not-found', `there is no user ${id}`, '`leadtap user list` shows all users.');
