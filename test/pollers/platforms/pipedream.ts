import { PipedreamSource } from '../../../integrations/pipedream/test/pipedream.ts';
import type { MakePoller } from '../poller.ts';

/** Our source. Pipedream keeps its database, and the ids that it compares when it de-duplicates. */
export const pipedreamSource: MakePoller = ({ connection, handOn, store }) => {
  const source = new PipedreamSource(connection);
  const handOnEmitted = () => source.emitted.splice(0).forEach(handOn);
  const set = source.db.set.bind(source.db);
  source.db.set = (key, value) => {
    handOnEmitted();
    store(() => set(key, value));
    return source.db;
  };
  return {
    turnOn: () => source.deploy(),
    poll: () => source.run(),
    restart: () => undefined,
  };
};
