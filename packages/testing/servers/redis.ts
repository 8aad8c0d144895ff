import { createClient } from '@redis/client';
import { findProgram } from './find-program.ts';
import { PrivateServer } from './private-server.ts';
import { REDIS } from './programs.ts';

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number | undefined;
  /** Ends it with SIGKILL. All it held is gone. */
  kill(): Promise<void>;
  /** On the same port, and empty. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** Freezes it: connections stay open, nothing answers. */
  pause(): void;
  resume(): void;
  /** Stops it and removes all of it. */
  remove(): Promise<void>;
}

/** A Redis of our own, or a Valkey: whichever is there. */
export async function startRedis(): Promise<RedisServer> {
  const command = findProgram(REDIS);
  const server = await PrivateServer.create({ name: 'redis', endSignal: 'SIGTERM' });
  const { folder, port } = server;
  const url = `redis://127.0.0.1:${port}`;
  const settings = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no', databases: 1000 };
  const run = {
    command,
    argv: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ask: () => ask(url),
  };
  try {
    await server.start(run);
  } catch (error) {
    await server.remove();
    throw error;
  }
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    kill: () => server.end('SIGKILL'),
    start: () => server.start(run),
    restart: async () => {
      await server.end('SIGKILL');
      await server.start(run);
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    remove: () => server.remove(),
  };
}

async function ask(url: string): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on('error', () => undefined);
  await client.connect();
  await client.close();
}
