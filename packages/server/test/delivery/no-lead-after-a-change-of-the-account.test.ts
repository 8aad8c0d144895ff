import { expect, inject, it, onTestFinished } from 'vitest';
import { organisationOf, runAccountRaces } from '../../../testing/delivery-trial/accounts/account-races.ts';
import {
  changeBehindPostgresWriter,
  changeBehindSqliteWriter,
} from '../../../testing/delivery-trial/accounts/change-behind-writer.ts';
import { startService } from '../../../testing/harness/service.ts';

const SIZE = { races: 80, companies: 4 };

it('no request returns or stores a lead that was committed after the change of its account', async () => {
  const test = await startService({ organisation: organisationOf(SIZE) });
  const { url } = test.database;
  const store = await test.database.openStore();
  onTestFinished(() => store.close());
  const verdict = await runAccountRaces({
    ...SIZE,
    urls: [test.url],
    store,
    token: (userId) => test.token(userId, { scopes: ['leads:read', 'leads:write'] }),
    changeBehindWriter:
      inject('store') === 'postgres'
        ? changeBehindPostgresWriter(url)
        : changeBehindSqliteWriter(url.slice('sqlite:'.length), store),
    seed: 1,
  });
  expect(verdict.late).toEqual([]);
  expect(verdict.wrong).toEqual([]);
  const races = [...verdict.counts.values()].flatMap((statuses) => [...statuses.values()]);
  expect(races.reduce((sum, count) => sum + count, 0)).toBe(SIZE.races);
});
