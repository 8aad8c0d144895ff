import type { Lead } from '@leadtap/contract';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import { type MakePoller, UNTIL_REMINDED } from '../../../packages/testing/pollers/poller.ts';
import { InstantFlow } from './instant-flow.ts';
import { PollingTrigger } from './power-automate.ts';

/** A flow with our connector: one lead a poll. Power Automate keeps the state. */
export const powerAutomateConnector: MakePoller = ({ connection, handOn, store }) => {
  const trigger = new PollingTrigger(connection);
  return {
    turnOn: async () => void (await trigger.poll()),
    poll: async () => {
      const leads = await trigger.poll();
      store(() => undefined);
      for (const lead of leads) handOn(lead as Lead);
    },
    restart: () => undefined,
  };
};

/** The instant flow of docs/integrations/power-automate.md. It runs, and its retry policy repeats actions, in the poll of the world. */
export const powerAutomateInstant: MakePoller = ({ connection, now, handOn, receiver, untilSent }) => {
  const queue: ReceivedEvent[] = [];
  receiver.respond = (response, event) => {
    queue.push(event);
    response.writeHead(202).end();
  };
  const flow = new InstantFlow({ connection, url: receiver.url, process: handOn, now });
  return {
    turnOn: () => flow.turnOn(),
    poll: async () => {
      await untilSent();
      await flow.retry();
      for (const event of queue.splice(0)) await flow.receive(event);
      if (flow.failed.length > 0) throw new Error(flow.failed.splice(0).join());
    },
    restart: () => undefined,
    idlePolls: UNTIL_REMINDED,
  };
};
