import { Agent, request } from 'node:http';

/** One request over a kept-alive connection; gives the size of the answer. */
function get(agent: Agent, url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () =>
        response.statusCode === 200 ? resolve(bytes) : reject(new Error(`answered ${response.statusCode}`)),
      );
    });
    sent.on('error', reject).end();
  });
}

/** Milliseconds for each request, one after the other: what a poll costs, not how many fit beside each other. */
export async function costPerRequest(
  url: string,
  tokens: readonly string[],
  requests: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const startedAt = performance.now();
  for (let n = 0; n < requests; n += 1) await get(agent, url, tokens[n % tokens.length] ?? '');
  const total = performance.now() - startedAt;
  agent.destroy();
  return total / requests;
}

/** As many at once as said, each over a connection of its own, each user in turn. */
export async function pollsPerSecond(
  url: string,
  tokens: readonly string[],
  polls: number,
  atOnce: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const startedAt = performance.now();
  let sent = 0;
  const caller = async () => {
    while (sent < polls) await get(agent, url, tokens[sent++ % tokens.length] ?? '');
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  return polls / seconds;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
