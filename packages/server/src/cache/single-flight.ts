/** One read of the store that has not finished yet. */
export interface Flight {
  /** The data changed after the read began: its result answers those who wait for it, and must not be cached. */
  isInvalidated: boolean;
}

interface SharedFlight<T> extends Flight {
  result: Promise<T> | undefined;
}

/** Single-flight: concurrent reads of the same thing share one query. Flights are grouped by company, to invalidate them together. */
export class SingleFlight<T> {
  readonly #byCompany = new Map<string, Map<string, SharedFlight<T>>>();

  /** Joins the flight of this key, or begins one. */
  run(companyId: string, key: string, read: (flight: Flight) => Promise<T>): Promise<T> {
    const flights = this.#byCompany.get(companyId) ?? new Map<string, SharedFlight<T>>();
    const pending = flights.get(key)?.result;
    if (pending) return pending;
    const flight: SharedFlight<T> = { isInvalidated: false, result: undefined };
    this.#byCompany.set(companyId, flights.set(key, flight));
    flight.result = read(flight).finally(() => this.#end(companyId, key, flight));
    return flight.result;
  }

  /** Later calls of `run` begin a new read instead of joining one that may have missed the change. */
  invalidate(companyId: string): void {
    for (const flight of this.#byCompany.get(companyId)?.values() ?? []) flight.isInvalidated = true;
    this.#byCompany.delete(companyId);
  }

  invalidateAll(): void {
    for (const companyId of [...this.#byCompany.keys()]) this.invalidate(companyId);
  }

  #end(companyId: string, key: string, flight: SharedFlight<T>): void {
    const flights = this.#byCompany.get(companyId);
    if (flights?.get(key) !== flight) return;
    flights.delete(key);
    if (flights.size === 0) this.#byCompany.delete(companyId);
  }
}
