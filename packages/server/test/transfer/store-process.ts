import type { HookQuery, LeadInput, ListedHook, NewHook, Store, WriteOptions } from 'leadtap';
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
    return (await this.#call(method, ...values)) as Result<Method>;
  }

  async subscribeHook(hook: NewHook): Promise<void> {
    await this.#call('hooks.subscribe', hook, 20);
  }

  async listHooks(query: HookQuery): Promise<readonly ListedHook[]> {
    return (await this.#call('hooks.list', query)) as readonly ListedHook[];
  }

  async #call(method: string, ...values: readonly unknown[]): Promise<unknown> {
    this.#process.send(JSON.stringify([method, ...values]));
    return JSON.parse(await this.#process.receive());
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
