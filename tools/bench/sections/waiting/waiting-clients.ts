/** Clients that wait for leads (`Prefer: wait`): a child process with a connection for each of them. */
import { Connection } from '../../load/connection.ts';
import { toRequest } from '../../load/request-queue.ts';

export type ClientsCommand =
  /** Each client waits, and waits again from the `Link` of each answer. */
  | { readonly kind: 'wait'; readonly port: number; readonly requests: readonly string[] }
  /** Answered when so many responses have arrived since the last time. */
  | { readonly kind: 'arrivals'; readonly count: number }
  | { readonly kind: 'disconnect' };

export interface ClientsReply {
  /** When each response was complete, in milliseconds of the monotonic clock that all processes of the machine share. */
  readonly arrivedAt: readonly number[];
  readonly failure?: string;
}

/** Connections that are opened at the same time: more of them would not fit into the queue of the server's socket. */
const OPENED_TOGETHER = 200;

const clients: Connection[] = [];
let arrivedAt: number[] = [];
let failure: string | undefined;
let onArrival: () => void = () => undefined;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

async function open(port: number, text: string): Promise<void> {
  const request = toRequest(text, true);
  const connection = await Connection.open(port, {
    onAnswer: (answered) => {
      arrivedAt.push(nowMs());
      answered.send(request);
      onArrival();
    },
    onFailure: (error) => {
      failure ??= error.message;
      onArrival();
    },
  });
  clients.push(connection);
  connection.send(request);
}

async function wait(port: number, requests: readonly string[]): Promise<void> {
  for (let from = 0; from < requests.length; from += OPENED_TOGETHER)
    await Promise.all(requests.slice(from, from + OPENED_TOGETHER).map((text) => open(port, text)));
}

async function takeArrivals(count: number): Promise<readonly number[]> {
  while (arrivedAt.length < count && failure === undefined)
    await new Promise<void>((resolve) => {
      onArrival = resolve;
    });
  const taken = arrivedAt;
  arrivedAt = [];
  return taken;
}

async function obey(command: ClientsCommand): Promise<readonly number[]> {
  if (command.kind === 'arrivals') return takeArrivals(command.count);
  if (command.kind === 'wait') await wait(command.port, command.requests);
  else for (const client of clients.splice(0)) client.close();
  arrivedAt = [];
  return [];
}

process.on('message', async (command: ClientsCommand) => {
  const reply = { arrivedAt: await obey(command), ...(failure !== undefined && { failure }) };
  process.send?.(reply satisfies ClientsReply);
});
process.on('disconnect', () => process.exit());
