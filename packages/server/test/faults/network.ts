import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { WhenDone } from '../../../testing/harness/temp-folder.ts';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

/** A proxy between the service and its database, with faults that tests switch on. */
export class Network {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #targetPort: number;
  #isSilent = false;
  /** A connection is reset after so many bytes of answers. */
  resetAfterBytes = Number.POSITIVE_INFINITY;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#join(near));
  }

  static async to(targetPort: number, whenDone: WhenDone = onTestFinished): Promise<Network> {
    const network = new Network(targetPort);
    network.#server.listen(0, '127.0.0.1');
    await once(network.#server, 'listening');
    whenDone(() => {
      network.#server.close();
      network.reset();
    });
    return network;
  }

  /** The address of the same database through this proxy. */
  through(url: string): string {
    const through = new URL(url);
    through.port = String((this.#server.address() as AddressInfo).port);
    return through.href;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** New connections go to this port; open ones are cut. */
  leadTo(port: number): void {
    this.#targetPort = port;
    this.reset();
  }

  /** Bytes are accepted, but not forwarded. */
  silence(): void {
    this.#isSilent = true;
    for (const { near, far } of this.#pairs) hold(near, far);
  }

  /** Forwards the bytes that were held back. */
  speak(): void {
    this.#isSilent = false;
    for (const { near, far } of this.#pairs) {
      near.resume();
      far.resume();
    }
  }

  reset(): void {
    for (const { near } of this.#pairs) near.resetAndDestroy();
  }

  /** As in an orderly shutdown of the server: a FIN. */
  hangUp(): void {
    for (const { near } of this.#pairs) near.end();
  }

  #join(near: Socket): void {
    const far = connect(this.#targetPort, '127.0.0.1');
    const pair = { near, far };
    this.#pairs.add(pair);
    let bytes = 0;
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => {
      bytes += chunk.length;
      near.write(chunk);
      if (bytes > this.resetAfterBytes) near.resetAndDestroy();
    });
    near.on('end', () => far.end());
    far.on('end', () => near.end());
    near.on('error', () => undefined);
    far.on('error', () => near.resetAndDestroy());
    near.on('close', () => {
      this.#pairs.delete(pair);
      far.destroy();
    });
    if (this.#isSilent) hold(near, far);
  }
}

function hold(near: Socket, far: Socket): void {
  near.pause();
  far.pause();
}
