import type { Address } from './addresses.ts';

/** The address is taken or not ours to use. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly address: Address;

  constructor(address: Address, cause: unknown) {
    super(`cannot listen on ${address.host}:${address.port}`, { cause });
    this.address = address;
  }
}
