import { DedupeStrategy, type Polling, pollingHelper } from '@activepieces/pieces-common';
import { AppConnectionType } from '@activepieces/shared';
import type { Lead } from '@leadtap/contract';
import { vi } from 'vitest';
import { Flow } from '../../../../integrations/activepieces/test/activepieces.ts';
import { polling as timeBased } from '../../../../integrations/activepieces/test/piece.ts';
import { readPage } from '../page.ts';
import { type Environment, type MakePoller, type Poller, Storage } from '../poller.ts';

/** A flow with our piece. */
export const activepiecesPiece: MakePoller = (environment) => {
  const { connection, handOn } = environment;
  let flow = new Flow(connection, undefined, new Storage(environment));
  return {
    turnOn: () => flow.enable(),
    poll: async () => {
      for (const lead of await flow.poll()) handOn(lead as Lead);
    },
    restart: () => {
      flow = new Flow(connection, undefined, new Storage(environment, flow.memory));
    },
  };
};

type Auth = typeof timeBased extends Polling<infer A, { startAt?: string }> ? A : never;

/** A trigger that leaves all to the real helper. */
function helperAlone(environment: Environment, polling: Polling<Auth, object>): Poller {
  const { connection, now, handOn } = environment;
  const memory = new Storage(environment);
  const store = {
    put: async <T>(key: string, value: T): Promise<T> => {
      memory.set(key, JSON.stringify(value));
      return value;
    },
    get: async <T>(key: string): Promise<T | null> => JSON.parse(memory.get(key) ?? 'null'),
    delete: async (key: string) => void memory.delete(key),
  };
  const files = { write: async () => '' };
  const auth = { type: AppConnectionType.CUSTOM_AUTH as const, props: { ...connection } };
  return {
    turnOn: async () => {
      const machineClock = vi.spyOn(Date, 'now').mockImplementation(now);
      try {
        await pollingHelper.onEnable(polling, { auth, store, propsValue: {} });
      } finally {
        machineClock.mockRestore();
      }
    },
    poll: async () => {
      const leads = await pollingHelper.poll(polling, { auth, store, files, propsValue: {} });
      for (const lead of leads) handOn(lead as Lead);
    },
    restart: () => undefined,
  };
}

/** `TIMEBASED` as the helper begins it, at the time of its own clock. */
export const activepiecesTimeBased: MakePoller = (environment) => helperAlone(environment, timeBased);

/** `LAST_ITEM` over the newest page. */
export const activepiecesLastItem: MakePoller = (environment) =>
  helperAlone(environment, {
    strategy: DedupeStrategy.LAST_ITEM,
    items: async () => {
      const { leads } = await readPage(environment.connection);
      return leads.map((lead) => ({ id: lead.automation_trigger_id, data: lead }));
    },
  });
