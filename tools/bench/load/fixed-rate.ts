import { setImmediate as turn } from 'node:timers/promises';
import { percentile } from '../report/statistics.ts';
import type { Connection } from './connection.ts';
import { openConnections } from './connections.ts';
import { Measured } from './measured.ts';
import type { Latencies, Load, LoadReport } from './messages.ts';
import type { RequestQueue } from './request-queue.ts';

export interface FixedRate extends Load {
  readonly seconds: number;
  /** Requests a second. */
  readonly rate: number;
}

/** A server that is so far behind never catches up at this rate. */
const HOPELESS_MS = 2000;
/** A round that takes so much longer than it should. */
const LATE = 1.1;
/** How long it sleeps between looks at its sockets: it must not take the core that a database needs. */
const NAP_MS = 0.05;

const nap = new Int32Array(new SharedArrayBuffer(4));

/**
 * Sends a request whenever one is due, whether or not earlier ones were answered, and counts the time from the moment
 * it was due: what a slow answer makes wait counts too. A request for which no connection is free waits for one.
 */
export async function fixedRate(load: FixedRate, queue: RequestQueue): Promise<LoadReport> {
  const total = Math.round(load.rate * load.seconds);
  const latencies: number[] = [];
  const free: Connection[] = [];
  let received = 0;
  let failure: Error | undefined;
  const connections = await openConnections(load, {
    onAnswer(connection, bytes) {
      latencies.push(performance.now() - connection.dueAt);
      received += bytes;
      free.push(connection);
    },
    onFailure(error) {
      failure ??= error;
    },
  });
  free.push(...connections);
  const measured = new Measured(load);
  const dueAt = (n: number) => measured.startedAt + (n * 1000) / load.rate;
  let overloaded = false;
  try {
    for (let sent = 0; latencies.length < total; ) {
      const now = performance.now();
      for (; sent < total && dueAt(sent) <= now; sent += 1) {
        const connection = free.pop();
        if (!connection) break;
        connection.dueAt = dueAt(sent);
        connection.send(queue.next());
      }
      if (failure) throw failure;
      overloaded = now - dueAt(latencies.length) > HOPELESS_MS;
      if (overloaded) break;
      if (dueAt(sent) - now > NAP_MS) Atomics.wait(nap, 0, 0, NAP_MS);
      await turn();
    }
    const report = measured.report(latencies.length, received);
    // A generator that ends late could not keep up with the rate.
    overloaded ||= report.seconds > load.seconds * LATE;
    return { ...report, latencies: summary(latencies, overloaded) };
  } finally {
    for (const connection of connections) connection.close();
  }
}

const summary = (latencies: readonly number[], overloaded: boolean): Latencies => ({
  p50Ms: percentile(latencies, 0.5),
  p99Ms: percentile(latencies, 0.99),
  p999Ms: percentile(latencies, 0.999),
  maxMs: percentile(latencies, 1),
  overloaded,
});
