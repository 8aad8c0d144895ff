/** Where to listen. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export type { TrustProxy } from '../http/forwarded.ts';
