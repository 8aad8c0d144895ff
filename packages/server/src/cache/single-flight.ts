/** One reading of the store that has not come back yet. */
export interface Reading {
  /** Something changed since it began, so what it brings answers those who wait for it and nobody else. */
  isOutdated: boolean;
}

interface Shared<T> extends Reading {
  answer: Promise<T> | undefined;
}

/** The readings of the store that are on their way, by company. Whoever needs the same thing waits for the same one. */
export class SingleFlight<T> {
  readonly #byCompany = new Map<string, Map<string, Shared<T>>>();

  share(companyId: string, name: string, read: (reading: Reading) => Promise<T>): Promise<T> {
    const readings = this.#byCompany.get(companyId) ?? new Map<string, Shared<T>>();
    const known = readings.get(name)?.answer;
    if (known) return known;
    const reading: Shared<T> = { isOutdated: false, answer: undefined };
    this.#byCompany.set(companyId, readings.set(name, reading));
    reading.answer = read(reading).finally(() => this.#end(companyId, name, reading));
    return reading.answer;
  }

  /** Whoever comes from now on needs a younger one. */
  outdate(companyId: string): void {
    for (const reading of this.#byCompany.get(companyId)?.values() ?? []) reading.isOutdated = true;
    this.#byCompany.delete(companyId);
  }

  outdateAll(): void {
    for (const companyId of [...this.#byCompany.keys()]) this.outdate(companyId);
  }

  #end(companyId: string, name: string, reading: Shared<T>): void {
    const readings = this.#byCompany.get(companyId);
    if (readings?.get(name) !== reading) return;
    readings.delete(name);
    if (readings.size === 0) this.#byCompany.delete(companyId);
  }
}
