/** For what is read from the database for the operator: the status page, and the metrics about consumers. */
export interface StatusTimeouts {
  /** Each part of the page takes at most this long, so that the page appears while the database hangs. */
  readonly readMs: number;
  /** Reading 100,000 consumers takes a second or more. After a read that took longer than this, the next one is made later. */
  readonly slowReadMs: number;
  /** A scrape that takes longer gets the result before: Prometheus gives up after 10 seconds, and then has no metric at all. */
  readonly scrapeMs: number;
}

export const STATUS_TIMEOUTS: StatusTimeouts = { readMs: 3000, slowReadMs: 250, scrapeMs: 2000 };
