import type { Lead } from '@leadtap/contract';
import type { PlainOutputField } from 'zapier-platform-core';
import app from '../src/index.ts';
import { perform } from '../src/triggers/new-lead.ts';
import { type Connection, run } from './connection.ts';

/** Those that are `primary` among the fields that are no function, as Zapier documents it; else `id`. */
function primaryKeys(): readonly string[] {
  const fields = app.triggers.new_lead.operation.outputFields ?? [];
  const isPrimary = (field: (typeof fields)[number]): field is PlainOutputField =>
    'primary' in field && field.primary === true;
  const keys = fields.filter(isPrimary).map(({ key }) => key);
  return keys.length > 0 ? keys : ['id'];
}

/**
 * A Zap with our trigger, polled as Zapier documents it: results are distinguished by their primary key; the first poll
 * after the Zap was turned on only fills the table of keys that were seen; each later one starts the Zap for what is not in
 * the table; turning the Zap off empties the table.
 */
export class ZapierPoller {
  readonly #keys = primaryKeys();
  readonly #seen = new Set<string>();
  /** The leads that the Zap ran for, in the order of the polls. */
  readonly runs: Lead[] = [];

  async turnOn(connection: Connection): Promise<void> {
    this.#seen.clear();
    this.#unseen(await run(perform, connection, { isPopulatingDedupe: true }));
  }

  /** Gives for how many leads it started the Zap. A poll that fails changes nothing. */
  async poll(connection: Connection): Promise<number> {
    const unseen = this.#unseen(await run(perform, connection));
    this.runs.push(...unseen);
    return unseen.length;
  }

  #unseen(results: readonly Lead[]): Lead[] {
    return results.filter((result) => {
      const key = JSON.stringify(this.#keys.map((name) => Reflect.get(result, name)));
      const isNew = !this.#seen.has(key);
      this.#seen.add(key);
      return isNew;
    });
  }
}
