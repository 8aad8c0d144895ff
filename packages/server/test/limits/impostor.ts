import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Impostor {
  readonly port: number;
  /** Every connection that was made, open or not. */
  readonly sockets: readonly Socket[];
  /** The next connection. */
  connection(): Promise<Socket>;
}

/** Something that listens where a Redis should, and does as the test wants. */
export async function startImpostor(behave: (socket: Socket) => void): Promise<Impostor> {
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

/** Says nothing, for ever. */
export const silent = (socket: Socket): void => void socket.resume();

/** Passes for a Redis until somebody is to be counted; then it does as the test wants. */
export const provenThen =
  (count: (socket: Socket) => void) =>
  (socket: Socket): void =>
    void socket.on('data', (commands) => {
      for (const command of String(commands).split(/^(?=\*)/m)) {
        if (command.includes(':minute+hour:')) count(socket);
        else socket.write(command.includes(':proof') ? '*3\r\n:0\r\n:1\r\n:1000\r\n' : '+OK\r\n');
      }
    });

/** Answers every command with the same line. */
export const repeating =
  (line: string) =>
  (socket: Socket): void =>
    void socket.on('data', (commands) => {
      const count = String(commands).match(/^\*\d+\r$/gm)?.length ?? 0;
      socket.write(`${line}\r\n`.repeat(count));
    });
