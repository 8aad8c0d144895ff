/** An answer of the real service, to be sent again and again. */
export interface CannedAnswer {
  readonly status: number;
  /** Names and values by turns, in the order in which they were sent. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
}

/** What a baseline shall answer from now on; several answers by turns. */
export interface Canned {
  readonly answers: readonly CannedAnswer[];
}

/** What every baseline tells when it listens, or obeys. */
export interface Listening {
  readonly port: number;
}
