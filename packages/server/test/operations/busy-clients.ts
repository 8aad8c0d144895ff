import { Agent, get } from 'node:http';
import { onTestFinished } from 'vitest';

export interface BusyClients {
  /** Resolves when each of them reuses its connection. */
  readonly busy: Promise<unknown>;
  /**
   * Resolves with all failures, when each of them got three responses with `Connection: close`, or was refused a connection,
   * which a load balancer would retry elsewhere.
   */
  readonly ended: Promise<string[]>;
}

interface Answer {
  readonly status: number | undefined;
  readonly isLast: boolean;
}

const ask = (url: string, agent: Agent, headers: Record<string, string>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      response.resume();
      const isLast = response.headers.connection === 'close';
      response.on('end', () => resolve({ status: response.statusCode, isLast })).on('error', reject);
    }).on('error', reject);
  });

/** Clients that send one request after the other on a connection each, and reconnect after `Connection: close`. */
export function startBusyClients(
  count: number,
  url: string,
  headersOf: (client: number) => Record<string, string> = () => ({}),
): BusyClients {
  const failures: string[] = [];
  const starts: Promise<void>[] = [];
  const run = async (client: number, onBusy: () => void) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (let answers = 0, closes = 0; closes < 3 && answers < 10_000; answers += 1) {
      try {
        const { status, isLast } = await ask(url, agent, headersOf(client));
        // A client that is much faster than the others may reach its rate limit.
        if (status !== 200 && status !== 429) failures.push(`status ${status}`);
        if (isLast) closes += 1;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'ECONNREFUSED') failures.push(String(code));
        break;
      }
      if (answers === 2) onBusy();
    }
    onBusy();
    agent.destroy();
  };
  const clients = Array.from({ length: count }, (_, client) => {
    let ended: Promise<void> = Promise.resolve();
    starts.push(
      new Promise<void>((onBusy) => {
        ended = run(client, onBusy);
      }),
    );
    return ended;
  });
  return { busy: Promise.all(starts), ended: Promise.all(clients).then(() => failures) };
}
