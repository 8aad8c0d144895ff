import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** What the network does to all connections of a proxy, open and new ones. */
export type NetworkFault =
  | { readonly kind: 'delay'; readonly ms: number }
  /** So many bytes at a time, with a pause after them. */
  | { readonly kind: 'slow bytes'; readonly bytes: number; readonly pauseMs: number }
  /** Bytes are held back until the fault ends. */
  | { readonly kind: 'hang' }
  /** Bytes and closings vanish. A connection that has lost bytes stays useless; its ends must find out themselves. */
  | { readonly kind: 'half-open' }
  /** Both ends are closed (`cut`) or reset after so many bytes of responses. */
  | { readonly kind: 'cut' | 'reset'; readonly afterBytes: number };

/** One connection: `near` comes from the client of the proxy, `far` goes to its target. */
interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  /** Of responses, since the fault began. */
  bytes: number;
  hasLostBytes: boolean;
}

/** A TCP proxy on 127.0.0.1 that causes the faults of a network. */
export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #targetPort: number;
  #fault: NetworkFault | undefined;
  /** Ends with the fault. */
  #recovered = Promise.resolve();
  #endFault: () => void = () => undefined;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => this.#join(near));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The same address through this proxy. */
  through(url: string): string {
    const through = new URL(url);
    through.port = String((this.#server.address() as AddressInfo).port);
    // Without the slash that `href` adds to an address without a path.
    return url.endsWith('/') ? through.href : through.href.replace(/\/$/, '');
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Open connections stay as they are. */
  sendNewConnectionsTo(port: number): void {
    this.#targetPort = port;
  }

  /** New connections go to this port; open ones are reset. */
  redirectTo(port: number): void {
    this.sendNewConnectionsTo(port);
    this.reset();
  }

  /** Replaces the fault so far. */
  begin(fault: NetworkFault): void {
    this.recover();
    this.#fault = fault;
    this.#recovered = new Promise((resolve) => {
      this.#endFault = resolve;
    });
    for (const pair of this.#pairs) {
      pair.bytes = 0;
      if ('afterBytes' in fault && fault.afterBytes === 0) close(pair, fault.kind);
    }
  }

  /** Ends the fault. */
  recover(): void {
    this.#fault = undefined;
    this.#endFault();
  }

  /** As an operating system does that finds out: the connections that have lost bytes are reset. */
  resetUseless(): void {
    for (const pair of this.#pairs) if (pair.hasLostBytes) close(pair, 'reset');
  }

  reset(): void {
    for (const pair of this.#pairs) close(pair, 'reset');
  }

  /** As in an orderly shutdown of the target: a FIN. */
  hangUp(): void {
    for (const { near } of this.#pairs) near.end();
  }

  async remove(): Promise<void> {
    this.recover();
    this.#server.close();
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  #join(near: Socket): void {
    const far = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pair: Pair = { near, far, bytes: 0, hasLostBytes: false };
    this.#pairs.add(pair);
    for (const socket of [near, far]) socket.on('error', () => undefined);
    void Promise.all([this.#forward(pair, near, far), this.#forward(pair, far, near)]).then(() => {
      near.destroy();
      far.destroy();
      this.#pairs.delete(pair);
    });
  }

  async #forward(pair: Pair, from: Socket, to: Socket): Promise<void> {
    let isReset = false;
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) await this.#pass(pair, chunk, to);
    } catch {
      isReset = true;
    }
    if (this.#fault?.kind === 'hang' || this.#fault?.kind === 'half-open') await this.#recovered;
    if (isReset) to.resetAndDestroy();
    else to.end();
  }

  async #pass(pair: Pair, chunk: Buffer, to: Socket): Promise<void> {
    if (this.#fault?.kind === 'hang') await this.#recovered;
    if (this.#fault?.kind === 'delay') await Promise.race([wait(this.#fault.ms), this.#recovered]);
    if (this.#fault?.kind === 'half-open') pair.hasLostBytes = true;
    if (pair.hasLostBytes) return;
    if (to === pair.near) pair.bytes += chunk.length;
    let rest = chunk;
    while (this.#fault?.kind === 'slow bytes' && rest.length > 0 && !to.destroyed) {
      const { bytes, pauseMs } = this.#fault;
      await write(to, rest.subarray(0, bytes));
      rest = rest.subarray(bytes);
      await wait(pauseMs);
    }
    const fault = this.#fault;
    if (fault && 'afterBytes' in fault && pair.bytes >= fault.afterBytes) {
      await write(to, rest.subarray(0, Math.max(0, rest.length - (pair.bytes - fault.afterBytes))));
      close(pair, fault.kind);
    } else if (rest.length > 0) await write(to, rest);
  }
}

/** Resolves when the bytes were written, or the socket is closed. */
const write = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });

function close({ near, far }: Pair, kind: 'cut' | 'reset'): void {
  for (const socket of [near, far]) {
    if (kind === 'reset') socket.resetAndDestroy();
    else socket.destroy();
  }
}
