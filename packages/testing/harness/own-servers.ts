/** Servers of one test's own, for tests that stop, kill or freeze them. They stop when the test ends. */
import { onTestFinished } from 'vitest';
import { type PostgresOptions, startPostgres } from '../servers/postgres.ts';
import { TcpProxy } from '../servers/tcp-proxy.ts';
import type { WhenDone } from './temp-folder.ts';

async function goneWhenDone<S extends { remove(): Promise<void> }>(
  starting: Promise<S>,
  whenDone: WhenDone,
): Promise<S> {
  const server = await starting;
  whenDone(() => server.remove());
  return server;
}

export const ownPostgres = (options?: PostgresOptions, whenDone: WhenDone = onTestFinished) =>
  goneWhenDone(startPostgres(options), whenDone);

export const ownTcpProxy = (targetPort: number, whenDone: WhenDone = onTestFinished) =>
  goneWhenDone(TcpProxy.start(targetPort), whenDone);
