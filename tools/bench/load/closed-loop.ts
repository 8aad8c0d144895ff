import { openConnections } from './connections.ts';
import { Measured } from './measured.ts';
import type { End, Load, LoadReport } from './messages.ts';
import type { RequestQueue } from './request-queue.ts';

/**
 * Each connection sends its next request when it has the whole answer to the last: how many fit into a second? What is
 * under way at the end is waited for and counts too, so that no work is left over for the next measurement.
 */
export async function closedLoop(load: Load, queue: RequestQueue, end: End): Promise<LoadReport> {
  const { seconds = Number.POSITIVE_INFINITY, answersEach = Number.POSITIVE_INFINITY } = end;
  let toSend = answersEach * queue.size;
  let underWay = 0;
  let answers = 0;
  let bytes = 0;
  let endsAt = 0;
  let finish: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const finished = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  const connections = await openConnections(load, {
    onAnswer(connection, size) {
      answers += 1;
      bytes += size;
      if (toSend > 0 && performance.now() < endsAt) {
        toSend -= 1;
        connection.send(queue.next());
      } else {
        underWay -= 1;
        if (underWay === 0) finish();
      }
    },
    onFailure: (error) => fail(error),
  });
  try {
    const measured = new Measured(load);
    endsAt = measured.startedAt + seconds * 1000;
    for (const connection of connections.slice(0, toSend)) {
      toSend -= 1;
      underWay += 1;
      connection.send(queue.next());
    }
    await finished;
    return measured.report(answers, bytes);
  } finally {
    for (const connection of connections) connection.close();
  }
}
