import type { Lead } from '@leadtap/contract';
import { type MakePoller, Storage } from '../../../packages/testing/pollers/poller.ts';
import { QUARTER_HOUR, QuarterHours } from '../../../packages/testing/pollers/quarter-hours.ts';
import { Flow, InstantFlow } from './activepieces.ts';

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
