import type { LeadInput, Store, WriteOptions } from 'leadtap';
import { FixtureProcess } from '../store/fixture-process.ts';

const SCRIPT = new URL('./fixtures/call-store.js', import.meta.url);

type Called =
  | 'applyOrganisation'
  | 'recordTokens'
  | 'listTokens'
  | 'revokeToken'
  | 'removeUser'
  | 'writeLeads';
type Result<Method extends Called> = Awaited<ReturnType<Store[Method]>>;

/** A store in another process, so that this process does not keep its file open. */
export class StoreProcess {
  readonly #process: FixtureProcess;

  constructor(url: string) {
    this.#process = new FixtureProcess(SCRIPT, url);
  }

  async call<Method extends Called>(
    method: Method,
    ...values: Parameters<Store[Method]>
  ): Promise<Result<Method>> {
    this.#process.send(JSON.stringify([method, ...values]));
    return JSON.parse(await this.#process.receive()) as Result<Method>;
  }

  /** Returns the `createdAt` of each lead. */
  async add(leads: readonly LeadInput[], options: WriteOptions = {}): Promise<number[]> {
    const outcome = await this.call('writeLeads', leads, options);
    return outcome.results.map((result) => {
      if (result.kind === 'rejected') throw new Error(`rejected: ${JSON.stringify(result.problem)}`);
      return result.createdAt;
    });
  }

  close(): Promise<void> {
    return this.#process.end();
  }
}
