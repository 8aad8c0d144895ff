import { connect, type IpcSocketConnectOpts, type Socket, type TcpSocketConnectOpts } from 'node:net';
import type pg from 'pg';

/** https://www.postgresql.org/docs/current/protocol-message-formats.html, CancelRequest */
const CANCEL_REQUEST = 80_877_102;
/** After this the connection is given up, whatever has become of the request. */
const PATIENCE_MS = 2000;
/** PgBouncer tries for 10 s, and version 1.18 dies of a request that is withdrawn meanwhile (its issue 801). */
const LIMIT_MS = 15_000;

/**
 * Asks the server to end the query that this connection is busy with. Resolves when that was done, or will hardly be
 * done any more. Nothing tells whether the query ended by it, or had ended by itself, so the connection must not be
 * used again: the request might meet the query after it.
 */
export async function sendCancelRequest(client: pg.ClientBase): Promise<void> {
  const target = client as pg.ClientBase & Cancellable;
  const { processID, secretKey } = target;
  const address = addressOf(target);
  if (typeof processID !== 'number' || typeof secretKey !== 'number' || address === undefined) return;
  const request = Buffer.alloc(16);
  for (const [index, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries())
    request.writeInt32BE(value, index * 4);
  // The server hangs up when it has done so; to hang up before would withdraw the request.
  const socket = connect(address, () => socket.write(request));
  socket.setTimeout(LIMIT_MS, () => socket.destroy());
  // It is a favour to the server; without it the query ends a little later.
  socket.on('error', () => undefined);
  socket.unref();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** What the driver knows of a connection, and its types do not tell. */
interface Cancellable {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly host?: string;
  readonly port?: number;
  readonly connection?: { readonly stream?: Socket };
}

/** Where this very connection leads to: a name may lead elsewhere by now. */
function addressOf({
  host,
  port,
  connection,
}: Cancellable): TcpSocketConnectOpts | IpcSocketConnectOpts | undefined {
  if (host?.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}` };
  const { remoteAddress, remotePort } = connection?.stream ?? {};
  return remoteAddress === undefined || remotePort === undefined
    ? undefined
    : { host: remoteAddress, port: remotePort };
}
