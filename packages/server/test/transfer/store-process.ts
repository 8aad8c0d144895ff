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

/** A store as another process has it: when it is closed, nothing of it is left in this one. */
export class StoreProcess {
  readonly #process: FixtureProcess;

  constructor(url: string) {
    this.#process = new FixtureProcess(SCRIPT, url);
  }

  async call<Method extends Called>(
    method: Method,
    ...values: Parameters<Store[Method]>
  ): Promise<Result<Method>> {
    this.#process.say(JSON.stringify([method, ...values]));
    return JSON.parse(await this.#process.hear()) as Result<Method>;
  }

  /** Gives the `createdAt` of each. */
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
