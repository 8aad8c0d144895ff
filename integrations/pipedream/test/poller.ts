import { deferred } from '../../../packages/testing/harness/deferred.ts';
import type { MakePoller } from '../../../packages/testing/pollers/poller.ts';
import { QUARTER_HOUR, QuarterHours } from '../../../packages/testing/pollers/quarter-hours.ts';
import { PipedreamSource } from './pipedream.ts';

/**
 * Our source, with the events that arrive while a poll of the world is under way, and its timer. Pipedream keeps its database, and
 * the ids that it compares when it de-duplicates.
 */
export const pipedreamSource: MakePoller = ({ connection, now, handOn, store, receiver, untilSent }) => {
  const source = new PipedreamSource(connection);
  source.endpoint = receiver.url;
  source.emitted.push = (...leads) => {
    leads.forEach(handOn);
    return leads.length;
  };
  const set = source.db.set.bind(source.db);
  source.db.set = (key, value) => {
    store(() => set(key, value));
    return source.db;
  };
  const timer = new QuarterHours(now);
  let polling = deferred();
  receiver.respond = async (response, event) => {
    await polling.promise;
    response.writeHead(await source.receive(event)).end();
  };
  return {
    idlePolls: QUARTER_HOUR.idlePolls,
    turnOn: async () => {
      await source.deploy();
      await source.activate();
      timer.start();
    },
    poll: async () => {
      const current = polling;
      current.resolve();
      try {
        await untilSent();
        await source.idle();
        // Not if the process was killed meanwhile.
        if (current === polling && timer.isDue()) await source.run();
      } finally {
        if (current === polling) polling = deferred();
      }
    },
    restart: () => {
      source.kill();
      polling = deferred();
    },
  };
};
