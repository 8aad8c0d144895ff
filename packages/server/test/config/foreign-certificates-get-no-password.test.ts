import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../../../testing/harness/certificate.ts';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { parseConfig } from '../../src/config.ts';
import { openStore } from '../../src/open-store.ts';

/** An attacker in place of a server, with a certificate of its own for the same name. */
async function startAttacker(untilTls: (socket: Socket) => Promise<void>) {
  const { key, cert, certFile } = makeCertificate(tempFolder(), 'localhost');
  let bytes = 0;
  const server = createServer(async (socket) => {
    socket.on('error', () => undefined);
    await untilTls(socket);
    const secure = new TLSSocket(socket, { isServer: true, key, cert });
    secure.on('error', () => undefined).on('data', (chunk: Buffer) => (bytes += chunk.length));
    // The client gets no answer, so only its own check of the certificate ends the handshake early.
    secure.once('data', () => secure.destroy());
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, certFile, received: () => bytes, server };
}

/** PostgreSQL asks in plain text whether the server has TLS. */
const acceptTls = async (socket: Socket): Promise<void> => {
  await once(socket, 'data');
  socket.write('S');
};

const connect = (port: number, options: string) =>
  openStore(
    parseConfig({
      env: { LEADTAP_DATABASE_URL: `postgres://app:s3cret@localhost:${port}/leads?${options}` },
      cwd: tempFolder(),
    }),
  );

test.each(['require', 'verify-full'])('PostgreSQL with sslmode=%s', async (mode) => {
  const { port, received, certFile } = await startAttacker(acceptTls);
  await expect(connect(port, `sslmode=${mode}`)).rejects.toThrow();
  expect(received()).toBe(0);
  // With a certificate that the operator trusts, the login is sent: the check above can fail.
  await expect(connect(port, `sslmode=${mode}&sslrootcert=${certFile}`)).rejects.toThrow();
  expect(received()).toBeGreaterThan(0);
});

test('Redis with rediss://', async () => {
  const { port, received, server } = await startAttacker(async () => undefined);
  const disconnected = once(server, 'connection').then(([socket]) => once(socket as Socket, 'close'));
  await startService({ env: { LEADTAP_REDIS_URL: `rediss://app:s3cret@localhost:${port}` } });
  await disconnected;
  expect(received()).toBe(0);
});
