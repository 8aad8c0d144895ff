/** Remembers a proxy that says `X-Forwarded-Proto: https` without being trusted. In memory. */
import { type Clock, toIso } from '../clock.ts';
import type { UntrustedProxy } from './report.ts';

const REMEMBERED_MS = 3_600_000;

export class UntrustedProxies {
  readonly #clock: Clock;
  #last: { readonly address: string; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly add = (address: string): void => {
    this.#last = { address, at: this.#clock() };
  };

  readonly read = (): UntrustedProxy | null => {
    if (!this.#last || this.#clock() - this.#last.at > REMEMBERED_MS) return null;
    return { address: this.#last.address, lastAt: toIso(this.#last.at) };
  };
}
