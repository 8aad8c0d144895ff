import { DedupeStrategy, type Polling, pollingHelper } from '@activepieces/pieces-common';
import { AppConnectionType } from '@activepieces/shared';
import type { Lead } from '@leadtap/contract';
import { vi } from 'vitest';
import { Flow, InstantFlow } from '../../../../integrations/activepieces/test/activepieces.ts';
import { polling as timeBased } from '../../../../integrations/activepieces/test/piece.ts';
import { readPage } from '../page.ts';
import { type Environment, type MakePoller, type Poller, Storage } from '../poller.ts';
import { QUARTER_HOUR, QuarterHours } from '../quarter-hours.ts';

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

/** A flow with our instant trigger. Activepieces has queued the events, and handles them in the poll of the world. */
export const activepiecesInstant: MakePoller = (environment) => {
  const { connection, now, handOn, receiver, untilSent } = environment;
  const makeFlow = (kept: Iterable<[string, string]> = []): InstantFlow => {
    const made = new InstantFlow(connection, { memory: new Storage(environment, kept), now });
    made.webhookUrl = receiver.url;
    made.started.push = (...leads) => {
      // Two events are handled at once. If the process is killed while it reads the page of one, the other one hands on nothing.
      if (made === flow) leads.forEach(handOn);
      return leads.length;
    };
    return made;
  };
  let flow = makeFlow();
  const renewal = new QuarterHours(now);
  receiver.respond = (response, event) => void response.writeHead(flow.receive(event)).end();
  return {
    idlePolls: QUARTER_HOUR.idlePolls,
    turnOn: async () => {
      await flow.enable();
      renewal.start();
    },
    poll: async () => {
      const current = flow;
      // Activepieces does not show that it has failed.
      if (renewal.isDue()) await current.renew().catch(() => undefined);
      await untilSent();
      // A run that leaves some leads to the next one asks for another event.
      for (; current.queue.length > 0; await untilSent()) await current.work();
      if (current.errors.length > 0) throw new Error(current.errors.splice(0).join());
    },
    restart: () => {
      const { status, memory } = flow;
      flow = makeFlow(memory);
      flow.status = status;
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
