import type { Lead } from '@leadtap/contract';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import type { MakePoller } from '../../../packages/testing/pollers/poller.ts';
import { InstantScenario } from './interpreter/instant-scenario.ts';
import { listChoices, Scenario } from './interpreter/scenario.ts';

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

/**
 * A scenario of our instant modules. Make queues the events, and runs the scenario in the poll of the world. It also continues
 * incomplete executions then, if they are due: after half an hour at most in these trials.
 */
export const makeInstant: MakePoller = ({ connection, now, handOn, receiver, untilSent }) => {
  const queue: ReceivedEvent[] = [];
  receiver.respond = (response, event) => {
    queue.push(event);
    response.writeHead(200).end();
  };
  const process = (bundle: unknown) => handOn(bundle as Lead);
  const scenario = new InstantScenario({ connection, url: receiver.url, process, now });
  return {
    idlePolls: 16,
    turnOn: () => scenario.attach(),
    poll: async () => {
      await untilSent();
      await scenario.retry();
      for (const event of queue.splice(0)) await scenario.receive(event);
      if (!scenario.active) throw scenario.error;
    },
    restart: () => undefined,
  };
};
