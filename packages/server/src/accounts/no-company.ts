/** What a new installation says until it has a company. */
import { withTimeout } from '../lib/timeout.ts';
import type { AccountStore } from './store.ts';

export const NO_COMPANY = {
  message: 'This installation is empty: it has no company yet.',
  fix: '`leadtap org apply FILE` creates companies and users; `leadtap org apply --help` shows an example of the file.',
} as const;

const TIMEOUT_MS = 1000;

/** False if it could not be read. Once there is a company, the database is not asked again. */
export function createEmptyCheck({ organisation }: Pick<AccountStore, 'organisation'>) {
  let isEmpty = true;
  return async (): Promise<boolean> => {
    if (!isEmpty) return false;
    const names = await withTimeout(TIMEOUT_MS, organisation.readCompanyNames(undefined, 1)).catch(
      () => null,
    );
    if (names?.length) isEmpty = false;
    return names?.length === 0;
  };
}
