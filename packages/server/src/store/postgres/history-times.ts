/**
 * The times of history in one batch. Equal times of a company are moved apart, in the order in which they come; what stands
 * in the database already is not known here.
 */
export class HistoryTimes {
  readonly #companies = new Map<string, CompanyTimes>();

  /** The wanted time, or the next one that no lead before it in the batch has. */
  take(companyId: string, wanted: number): number {
    const known = this.#companies.get(companyId);
    if (known) return known.take(wanted);
    const times = new CompanyTimes();
    this.#companies.set(companyId, times);
    return times.take(wanted);
  }

  /**
   * Numbers the runs of times without a gap. If one time of a run turns out to be taken, all that follow in it must move,
   * so a run is added as a whole or not at all.
   */
  numberRuns(): (companyId: string, time: number) => number {
    let run = 0;
    for (const times of this.#companies.values()) run = times.numberRuns(run);
    return (companyId, time) => this.#companies.get(companyId)?.runOf(time) ?? 0;
  }
}

class CompanyTimes {
  /** Each time that is taken, with its run. */
  readonly #runs = new Map<number, number>();
  /** Behind those that wanted a time and had to move. */
  readonly #next = new Map<number, number>();

  take(wanted: number): number {
    let time = this.#next.get(wanted) ?? wanted;
    while (this.#runs.has(time)) time += 1;
    this.#runs.set(time, 0);
    if (time !== wanted) this.#next.set(wanted, time + 1);
    return time;
  }

  /** Gives the last number it has used. */
  numberRuns(used: number): number {
    let run = used;
    let previous = Number.NaN;
    for (const time of [...this.#runs.keys()].sort((a, b) => a - b)) {
      if (time !== previous + 1) run += 1;
      this.#runs.set(time, run);
      previous = time;
    }
    return run;
  }

  runOf(time: number): number | undefined {
    return this.#runs.get(time);
  }
}
