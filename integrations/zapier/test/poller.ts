import { type MakePoller, UNTIL_REMINDED } from '../../../packages/testing/pollers/poller.ts';
import { InstantZap } from './instant-zap.ts';
import { ZapierPoller } from './zapier-poller.ts';

/** A Zap with our app. */
export const zapierApp: MakePoller = ({ connection, handOn, store }) => {
  const zapier = new ZapierPoller();
  return {
    turnOn: () => zapier.turnOn(connection),
    poll: async () => {
      await zapier.poll(connection);
      store(() => undefined);
      zapier.runs.splice(0).forEach(handOn);
    },
    restart: () => undefined,
  };
};

/**
 * A Zap with our instant trigger. Zapier accepts an event when it arrives, and its run sees the time of then; it is under way in the
 * next poll of the world. Zapier keeps events and its cache, whatever run is killed.
 */
export const zapierInstant: MakePoller = ({ connection, now, handOn, store, receiver, untilSent }) => {
  const kept = new Map<string, unknown>();
  const arrivals = new Map<string, number>();
  let zap: InstantZap | undefined;
  let process = Symbol('process');
  const startProcess = () => {
    process = Symbol('process');
    const own = process;
    if (!zap) return;
    zap.cache = {
      get: async (key) => kept.get(key),
      // A run that was killed stores nothing.
      set: async (key, value) => {
        if (own === process) store(() => kept.set(key, value));
        return true;
      },
      delete: async (key) => kept.delete(key),
    };
  };
  return {
    turnOn: async () => {
      zap = await InstantZap.turnOn(receiver, connection);
      const accept = receiver.respond;
      receiver.respond = (response, event) => {
        arrivals.set(event.text, now());
        accept(response, event);
      };
      startProcess();
    },
    poll: async () => {
      const own = process;
      const failures: unknown[] = [];
      await untilSent();
      for (let event = zap?.accepted.shift(); event && own === process; event = zap?.accepted.shift()) {
        const arrivedAt = arrivals.get(event.text) ?? now();
        await zap?.runEvent(event, () => arrivedAt).catch((error: unknown) => failures.push(error));
      }
      if (own === process) zap?.runs.splice(0).forEach(handOn);
      if (failures.length > 0) throw failures[0];
    },
    restart: startProcess,
    idlePolls: UNTIL_REMINDED,
  };
};
