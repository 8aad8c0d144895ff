import { Client } from 'pg';
import { findOnPath, findProgram, type Program } from './find-program.ts';
import { PrivateServer } from './private-server.ts';

export interface PgBouncerOptions {
  /** The cluster behind it; the database is the one that a client names. */
  readonly upstream: string;
  /** Default: `transaction`. */
  readonly poolMode?: 'session' | 'transaction' | 'statement';
  /** As in the section `pgbouncer` of `pgbouncer.ini`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

export interface PgBouncerServer {
  /** Of the same database as the upstream address, but through the pool. */
  readonly url: string;
  readonly port: number;
  readonly pid: number | undefined;
  stop(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  remove(): Promise<void>;
}

export const PGBOUNCER: Program = {
  name: 'PgBouncer',
  debian: 'pgbouncer',
  homebrew: 'pgbouncer',
  find: () => findOnPath('pgbouncer'),
};

/** A pool of our own in front of a cluster. It lets in everybody whom the cluster lets in without a password. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncerServer> {
  const command = findProgram(PGBOUNCER);
  const server = await PrivateServer.create({ name: 'pgbouncer', endSignal: 'SIGTERM' });
  const { folder, port } = server;
  const upstream = new URL(options.upstream);
  const url = new URL(upstream);
  url.host = `127.0.0.1:${port}`;
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: folder,
    auth_type: 'trust',
    auth_file: server.write('users.txt', `"${upstream.username}" "${upstream.password}"\n`),
    pool_mode: options.poolMode ?? 'transaction',
    ...options.settings,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const behind = `* = host=${upstream.hostname} port=${upstream.port || 5432}`;
  const file = server.write('pgbouncer.ini', ['[databases]', behind, '[pgbouncer]', ...lines, ''].join('\n'));
  const run = { command, argv: [file], ask: () => ask(url.href) };
  try {
    await server.start(run);
  } catch (error) {
    await server.remove();
    throw error;
  }
  return {
    url: url.href,
    port,
    get pid() {
      return server.pid;
    },
    stop: () => server.end(),
    start: () => server.start(run),
    pause: () => server.pause(),
    resume: () => server.resume(),
    remove: () => server.remove(),
  };
}

async function ask(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end();
  }
}
