import { join } from 'node:path';
import { Client } from 'pg';
import { findProgram } from './find-program.ts';
import { PrivateServer } from './private-server.ts';
import { POSTGRES } from './programs.ts';

export interface PostgresOptions {
  /** As in `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** How a cluster is shut down: `fast` waits for no client, `immediate` is like a power cut. */
export type StopMode = 'fast' | 'immediate';

export interface PostgresServer {
  /** As the superuser `postgres`, to the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Of the postmaster; undefined while it is stopped. */
  readonly pid: number | undefined;
  stop(mode: StopMode): Promise<void>;
  /** Waits until it takes connections again. */
  start(): Promise<void>;
  restart(mode: StopMode): Promise<void>;
  /** Freezes the whole cluster: connections stay open, nothing answers. */
  pause(): void;
  resume(): void;
  /** Stops it and removes all of it. */
  remove(): Promise<void>;
}

const beside = (file: string, name: string): string => join(file, '..', name);

const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

let initialised: Promise<PrivateServer> | undefined;

/** Never started. Clusters are copies of it: `initdb` takes longer than everything else at their start. It goes with this process. */
function initialisedCluster(command: string): Promise<PrivateServer> {
  initialised ??= PrivateServer.create({ name: 'postgres-template', endSignal: SIGNALS.immediate }).then(
    (template) => {
      template.prepare(beside(command, 'initdb'), ...initdbOptions(join(template.folder, 'data')));
      return template;
    },
  );
  return initialised;
}

/** A cluster of our own. */
export async function startPostgres({ settings = {} }: PostgresOptions = {}): Promise<PostgresServer> {
  const command = findProgram(POSTGRES);
  const server = await PrivateServer.create({ name: 'postgres', endSignal: SIGNALS.immediate });
  const { folder, port } = server;
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const given = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    shared_buffers: '32MB',
    ...settings,
  };
  const argv = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const run = {
    command,
    argv: ['-D', join(folder, 'data'), ...argv],
    ask: () => ask(url),
  };
  try {
    const { folder: template } = await initialisedCluster(command);
    server.prepare('cp', '-Rp', join(template, 'data'), join(folder, 'data'));
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
    stop: (mode) => server.end(SIGNALS[mode]),
    start: () => server.start(run),
    restart: async (mode) => {
      await server.end(SIGNALS[mode]);
      await server.start(run);
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    remove: () => server.remove(),
  };
}

const initdbOptions = (data: string): string[] => [
  `--pgdata=${data}`,
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--no-sync',
];

async function ask(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end();
  }
}
