/** What the endpoint needs of a request, whoever received it. What is seldom needed is found out when it is. */
export interface PollRequest {
  readonly authorization: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** What follows the `?` of the address. */
  readonly search: string;
  /** The sender's. */
  address(): string;
  /** The `{base_url}` as the caller sees it. */
  baseUrl(): string;
  /** Whether the caller has hung up. */
  isGone(): boolean;
  /** Aborted when it does. */
  whenGone(): AbortSignal;
}

/** The part of an address behind its path. */
export function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}
