/** Where to listen. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Whose word about the caller's address counts: nobody's, so many proxies in front, or the proxies with these addresses. */
export type TrustProxy = false | number | readonly string[];
