import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Client, openClients } from './client.ts';
import { percentile } from './report.ts';
import { CONNECTIONS } from './wrk.ts';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A server that is this late, or a round that takes this much longer, cannot keep up with the rate. */
const MAX_LATE_MS = 2000;
const MAX_LATE_RATIO = 1.1;
/** The pause between looks at the sockets: without it the generator would use a core that a database needs. */
const PAUSE_MS = 0.05;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Sends each request when it is due, whether or not earlier ones were answered, and counts from the time it was due (no
 * coordinated omission). Returns undefined if the server cannot keep up.
 */
export async function measureLatency(
  port: number,
  requests: readonly string[],
  rate: number,
  seconds: number,
): Promise<Latency | undefined> {
  const total = Math.round(rate * seconds);
  const latencies: number[] = [];
  const idle: Client[] = [];
  const clients = await openClients(port, CONNECTIONS, (client, head) => {
    if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`a poll was answered with ${head}`);
    latencies.push(performance.now() - client.dueAt);
    idle.push(client);
  });
  idle.push(...clients);
  const startedAt = performance.now();
  const dueAt = (n: number) => startedAt + (n * 1000) / rate;
  try {
    for (let sent = 0; latencies.length < total; await nextTurn()) {
      const now = performance.now();
      if (now - dueAt(latencies.length) > MAX_LATE_MS) return undefined;
      for (; sent < total && dueAt(sent) <= now; sent += 1) {
        const client = idle.pop();
        if (!client) break;
        client.dueAt = dueAt(sent);
        client.send(requests[sent % requests.length] ?? '');
      }
      if (dueAt(sent) - now > PAUSE_MS) Atomics.wait(pause, 0, 0, PAUSE_MS);
    }
    if (performance.now() - startedAt > seconds * 1000 * MAX_LATE_RATIO) return undefined;
    return { p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) };
  } finally {
    for (const client of clients) client.close();
  }
}
