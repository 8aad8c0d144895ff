import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FakeRedis {
  readonly port: number;
  /** Every connection that was made, open or not. */
  readonly sockets: readonly Socket[];
  /** The next connection. */
  connection(): Promise<Socket>;
}

/** A server that listens in place of Redis and behaves as the test says. */
export async function startFakeRedis(behave: (socket: Socket) => void): Promise<FakeRedis> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    behave(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    connection: async () => {
      const [socket] = await once(server, 'connection');
      return socket as Socket;
    },
  };
}

/** Never replies. */
export const silent = (socket: Socket): void => void socket.resume();

/** Passes the self-test like Redis. Requests of users are handled by `count`. */
export const afterSelfTest =
  (count: (socket: Socket) => void) =>
  (socket: Socket): void =>
    void socket.on('data', (commands) => {
      for (const command of String(commands).split(/^(?=\*)/m)) {
        if (command.includes(':minute+hour:')) count(socket);
        else socket.write(command.includes(':self-test') ? '*3\r\n:0\r\n:1\r\n:1000\r\n' : '+OK\r\n');
      }
    });

/** Replies to every command with the same line. */
export const repeatReply =
  (line: string) =>
  (socket: Socket): void =>
    void socket.on('data', (commands) => {
      const count = String(commands).match(/^\*\d+\r$/gm)?.length ?? 0;
      socket.write(`${line}\r\n`.repeat(count));
    });
