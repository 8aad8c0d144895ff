import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { findProgram } from '../../../testing/servers/find-program.ts';
import type { PostgresServer } from '../../../testing/servers/postgres.ts';
import { PrivateServer } from '../../../testing/servers/private-server.ts';
import { POSTGRES } from '../../../testing/servers/programs.ts';

export interface Standby {
  readonly url: string;
  readonly port: number;
}

/** A streaming standby of a cluster. It is removed when the test ends. */
export async function startStandby({ port: primaryPort }: PostgresServer): Promise<Standby> {
  const command = findProgram(POSTGRES);
  const server = await PrivateServer.create({ name: 'standby', endSignal: 'SIGQUIT' });
  onTestFinished(() => server.remove());
  const { folder, port } = server;
  const data = join(folder, 'data');
  const from = `--dbname=postgres://postgres@127.0.0.1:${primaryPort}/postgres`;
  server.prepare(join(realpathSync(command), '..', 'pg_basebackup'), from, '--pgdata', data, ...COPY);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off' };
  await server.start({
    command,
    argv: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    ask: () => ask(url),
  });
  return { url, port };
}

/** At once, and with what makes it a standby. */
const COPY = ['--checkpoint=fast', '--no-sync', '--write-recovery-conf'];

async function ask(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end();
  }
}
