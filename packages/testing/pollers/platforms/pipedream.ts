import { PipedreamSource } from '../../../../integrations/pipedream/test/pipedream.ts';
import type { MakePoller } from '../poller.ts';

/** Our source. Pipedream keeps its database, and the ids that it compares when it de-duplicates. */
export const pipedreamSource: MakePoller = ({ connection, handOn, store }) => {
  const source = new PipedreamSource(connection);
  source.emitted.push = (...leads) => {
    leads.forEach(handOn);
    return leads.length;
  };
  const set = source.db.set.bind(source.db);
  source.db.set = (key, value) => {
    store(() => set(key, value));
    return source.db;
  };
  return {
    turnOn: () => source.deploy(),
    poll: () => source.run(),
    restart: () => undefined,
  };
};
