/** The load generator: a child process that executes the commands of its parent, one at a time. */
import { closedLoop } from './closed-loop.ts';
import { fixedRate } from './fixed-rate.ts';
import type { Command, LoadReport, Reply } from './messages.ts';
import { RequestQueue } from './request-queue.ts';

const queues = new Map<string, RequestQueue>();

function queueOf(name: string): RequestQueue {
  const queue = queues.get(name);
  if (!queue) throw new Error(`there are no requests called ${name}`);
  return queue;
}

async function obey(command: Command): Promise<Reply> {
  if (command.kind === 'requests') {
    queues.set(command.name, new RequestQueue(command));
    return { kind: 'ready' };
  }
  const queue = queueOf(command.requests);
  return { kind: 'report', report: await run(command, queue) };
}

const run = (command: Exclude<Command, { kind: 'requests' }>, queue: RequestQueue): Promise<LoadReport> =>
  command.kind === 'fixed-rate' ? fixedRate(command, queue) : closedLoop(command, queue, command.end);

process.on('message', async (command: Command) => {
  let reply: Reply;
  try {
    reply = await obey(command);
  } catch (error) {
    reply = { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
  process.send?.(reply);
});
process.on('disconnect', () => process.exit());
