/** What the bench and the load generator, which is a process of its own, tell each other. */

/** The requests of many users, sent in turn. Each is a whole HTTP request. */
export interface RequestSet {
  readonly name: string;
  readonly requests: readonly string[];
  /** Each user polls on from where the `Link` of the last answer leads, as a client of the service does. */
  readonly followLinks?: boolean;
}

export interface Load {
  /** The name of a request set that was sent before. */
  readonly requests: string;
  /** Where to: connections are spread evenly over these ports of 127.0.0.1. */
  readonly ports: readonly number[];
  readonly connections: number;
  /** Whose processor time counts, by the name that the report gives it. */
  readonly processes: Readonly<Record<string, readonly number[]>>;
}

/** When nothing more is sent, whichever comes first. */
export interface End {
  readonly seconds?: number;
  /** So many answers for each request of the set: each user is asked for equally often. */
  readonly answersEach?: number;
}

export type Command =
  | ({ readonly kind: 'requests' } & RequestSet)
  /** Each connection sends its next request when it has the answer to the last. */
  | ({ readonly kind: 'closed-loop'; readonly end: End } & Load)
  /** So many requests a second, whatever the answers do. */
  | ({ readonly kind: 'fixed-rate'; readonly seconds: number; readonly rate: number } & Load);

export interface LoadReport {
  readonly answers: number;
  readonly seconds: number;
  readonly bytes: number;
  /** Processor time in milliseconds, by the names of `processes`, and that of the generator itself. */
  readonly processorMs: Readonly<Record<string, number>>;
  readonly generatorMs: number;
  /** From the moment a request was due to the last byte of its answer. Only at a fixed rate. */
  readonly latencies?: Latencies;
}

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** The server fell so far behind that the round was broken off. */
  readonly overloaded: boolean;
}

export type Reply =
  | { readonly kind: 'report'; readonly report: LoadReport }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string };
