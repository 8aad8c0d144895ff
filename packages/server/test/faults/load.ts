import { setTimeout as pause } from 'node:timers/promises';
import type { Store } from 'leadtap';
import { Client } from 'pg';
import { expect } from 'vitest';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import { type Ask, type Poller, RemembersDate, RemembersLastLead } from '../delivery/pollers.ts';
import { expectAnswered, type Instance } from './instance.ts';

/** Clients wait before they retry. */
const PAUSE_MS = 10;

export interface Load {
  /** The leads whose write was acknowledged. */
  readonly acknowledged: Set<string>;
  stop(): void;
  readonly stopped: Promise<unknown>;
}

export class Writers implements Load {
  readonly acknowledged = new Set<string>();
  readonly stopped: Promise<unknown>;
  #isStopping = false;

  constructor(store: Store, url: string) {
    this.stopped = Promise.all([
      this.#write('own', (id) => writeOne(store, id)),
      this.#write('sql-1', insertOver(url)),
      this.#write('sql-2', insertOver(url)),
    ]);
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** One lead after the other, each until it is acknowledged. */
  async #write(name: string, write: (id: string) => Promise<boolean>): Promise<void> {
    for (let written = 0; !this.#isStopping; written += 1) {
      const id = `${name}-${written}`;
      while (!(await write(id))) await pause(PAUSE_MS);
      this.acknowledged.add(id);
    }
  }
}

async function writeOne(store: Store, id: string): Promise<boolean> {
  try {
    const { kind } = await store.writeLeads([{ companyId: 'acme', id, fields: {} }]);
    return kind === 'written';
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnavailableError);
    return false;
  }
}

/** A writer with plain SQL. */
function insertOver(url: string): (id: string) => Promise<boolean> {
  let client: Client | undefined;
  return async (id) => {
    try {
      client ??= await open(url);
      await client.query('BEGIN');
      await client.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', $1)`, [id]);
      await client.query('COMMIT');
      return true;
    } catch {
      await client?.end().catch(() => undefined);
      client = undefined;
      return false;
    }
  };
}

async function open(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Two kinds of automations, which retry after an error. */
export class Pollers {
  readonly lastLead: Poller;
  readonly date: Poller;
  readonly stopped: Promise<unknown>;
  answered = 0;
  refused = 0;
  #isStopping = false;

  constructor(service: Instance) {
    const ask: Ask = async ({ since = 0, limit }) => {
      for (;;) {
        const answer = await service.poll('acme', `since=${new Date(since).toISOString()}&limit=${limit}`);
        expectAnswered(answer);
        if (answer.status === 200) {
          this.answered += 1;
          const leads = answer.leads.map(({ id, createdAt }) => ({ id, createdAt: Date.parse(createdAt) }));
          return { leads, date: answer.date };
        }
        this.refused += 1;
        await pause(PAUSE_MS);
      }
    };
    this.lastLead = new RemembersLastLead(ask, 100);
    this.date = new RemembersDate(ask, 100);
    this.stopped = Promise.all([this.#poll(this.lastLead), this.#poll(this.date)]);
  }

  /** After one more poll, which must see all leads that are written by now. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.stopped;
    await this.lastLead.poll();
    await this.date.poll();
  }

  async #poll(poller: Poller): Promise<void> {
    while (!this.#isStopping) await poller.poll();
  }
}
