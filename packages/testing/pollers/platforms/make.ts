import type { Lead } from '@leadtap/contract';
import { listChoices, Scenario } from '../../../../integrations/make/test/interpreter/scenario.ts';
import type { MakePoller } from '../poller.ts';

/** More than a page, so that a run reads several. */
const LEADS_A_RUN = 500;

/** A scenario with our app, interpreted as Make documents it, from the newest lead on that the epoch panel offers. */
export const makeApp: MakePoller = ({ connection, handOn, store }) => {
  let stored = '';
  let scenario: Scenario | undefined;
  const load = () => new Scenario({ connection, startAt: stored, limit: LEADS_A_RUN });
  return {
    turnOn: async () => {
      const [newest] = await listChoices(connection);
      stored = newest?.date ?? '';
      scenario = load();
    },
    poll: async () => {
      scenario ??= load();
      if (!scenario.active) throw new Error('Make has switched the scenario off');
      const run = await scenario.run((bundle) => handOn(bundle as Lead));
      if (run.kind !== 'done') throw run.error;
      const { lastDate } = scenario.data;
      store(() => {
        stored = lastDate;
      });
    },
    restart: () => {
      scenario = undefined;
    },
  };
};
