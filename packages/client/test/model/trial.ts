import { type Checkpoint, type Environment, type Lead, LeadtapError, newLeads } from '@leadtap/client';
import { expect } from 'vitest';
import { AnnouncedQuota } from './announced-quota.ts';
import type { Answer, FaultyNetwork, Script } from './faulty-network.ts';
import type { LiveService } from './live-service.ts';
import { MemoryOfConsumer } from './memory-of-consumer.ts';
import { INTERVAL_MS, Rules } from './rules.ts';
import { Run } from './run.ts';
import { ALL_WELL, type Handling, type NetworkStep, type Schedule } from './schedule.ts';

const TIMEOUT_MS = 30_000;
/** A client that asks more often has run wild. */
const MOST_REQUESTS = 300;

export interface Verdict {
  /** The ids of the leads that the consumer took, in that order, over all its restarts. */
  readonly taken: readonly string[];
  readonly expected: readonly string[];
  /** What was done against the rules, other than that. */
  readonly broken: readonly string[];
}

/** A consumer and a service live through a schedule. */
export class Trial implements Script {
  readonly #service: LiveService;
  readonly #baseUrl: string;
  readonly #schedule: Schedule;
  readonly #network: NetworkStep[];
  readonly #consumer: Schedule['consumer'][number][];
  readonly #memory: MemoryOfConsumer;
  readonly #told = new AnnouncedQuota();
  readonly #broken: string[] = [];
  #begin: { readonly since: string; readonly leads: number } | undefined;
  #run = new Run();
  #rules: Rules;
  #requests = 0;
  /** The last request was the first or a later one behind all that was planned. */
  #isScheduleOver = false;
  /** How many leads there were when an answer was read; a stale one was read long before it arrives. */
  readonly #leadsRead = new WeakMap<Answer, number>();
  #leadsAtPage = 0;
  #timeLimit = new AbortController();
  #deathAtSave: Handling | undefined;
  #isOver = false;

  constructor(service: LiveService, network: FaultyNetwork, schedule: Schedule) {
    this.#service = service;
    this.#baseUrl = network.url;
    this.#schedule = schedule;
    this.#network = [...schedule.network];
    this.#consumer = [...schedule.consumer];
    this.#memory = new MemoryOfConsumer(schedule.isTransactional);
    this.#rules = this.#newRules();
    if (!schedule.beginsNow) this.#begin = { since: service.sinceNow(), leads: service.leadIds.length };
    network.follow(this);
  }

  async finish(): Promise<Verdict> {
    const since = this.#begin?.since;
    while (!this.#isOver) await this.#live(since);
    const { leadIds } = this.#service;
    return {
      taken: this.#memory.taken.map(({ id }) => id),
      expected: leadIds.slice(this.#begin?.leads ?? leadIds.length),
      broken: this.#broken,
    };
  }

  /** From the start of the consumer's program to its end, whatever that is. */
  async #live(since: string | undefined): Promise<void> {
    const run = new Run();
    this.#run = run;
    this.#rules = this.#newRules();
    const hasCheckpoint = this.#memory.load() !== undefined;
    this.#told.restarted(hasCheckpoint);
    const leads = newLeads({
      baseUrl: this.#baseUrl,
      token: this.#service.token,
      since,
      checkpoint: this.#memory.store(run, (checkpoint) => this.#saving(checkpoint)),
      signal: run.stop.signal,
      intervalMs: INTERVAL_MS,
      timeoutMs: TIMEOUT_MS,
      environment: run.environment(this.#environment()),
    });
    try {
      for (;;) {
        const next = await Promise.race([leads.next(), run.killed]);
        if (next === 'killed' || next.done) return;
        if (this.#handle(next.value) === 'throw') return void (await leads.return());
      }
    } catch (error) {
      // Before the address has ever worked, a foreign answer ends the loop.
      const isForeignAnswer = error instanceof LeadtapError && error.code === 'not-leads';
      if (!isForeignAnswer || hasCheckpoint || this.#rules.hasHeard) this.failed(error);
    } finally {
      this.#broken.push(...this.#rules.broken);
    }
  }

  #handle(lead: Lead): Handling {
    const { handling, tookMs } = this.#consumer.shift() ?? { handling: 'take', tookMs: 0 };
    this.#service.clock.advance(tookMs);
    if (handling === 'killed-while-handling') this.#run.kill();
    if (handling === 'killed-while-handling' || handling === 'throw') return handling;
    this.#memory.take(lead);
    this.#rules.handled();
    if (handling === 'stop-after') this.#run.stop.abort();
    else if (handling !== 'take') this.#deathAtSave = handling;
    return handling;
  }

  #saving({ since }: Checkpoint): Handling | undefined {
    this.#begin ??= { since, leads: this.#leadsAtPage };
    if (since !== this.#place())
      this.#broken.push(`saved ${since} when the consumer was at ${this.#place()}`);
    const death = this.#deathAtSave;
    this.#deathAtSave = undefined;
    return death;
  }

  /** Up to where the consumer has taken the leads; null before the feed has begun. */
  #place(): string | null {
    return this.#memory.taken.at(-1)?.createdAt ?? this.#begin?.since ?? null;
  }

  #newRules(): Rules {
    return new Rules(this.#service.clock, this.#schedule.random, this.#memory.load());
  }

  #environment(): Environment {
    const { clock } = this.#service;
    return {
      now: clock,
      random: () => this.#schedule.random,
      uniqueId: () => expect.fail('a poll needs no key'),
      fetch: (url, init) => {
        this.#rules.requested(url, init.headers, this.#place());
        return fetch(url, init);
      },
      sleep: async (ms) => {
        // Nothing is left to happen, and nothing is left to ask for.
        if (this.#isScheduleOver && this.#rules.isAtRest) this.#end();
        else clock.advance(ms);
      },
      timeLimit: () => {
        this.#timeLimit = new AbortController();
        return this.#timeLimit.signal;
      },
    };
  }

  #end(): void {
    this.#isOver = true;
    this.#run.stop.abort();
  }

  get targetUrl(): string {
    return this.#service.url;
  }

  async arrived(): Promise<NetworkStep> {
    this.#isScheduleOver = this.#network.length === 0;
    const step = this.#network.shift() ?? ALL_WELL;
    this.#requests += 1;
    if (this.#requests > MOST_REQUESTS) throw new Error('the client has run wild');
    if (step.isServiceRestarted) await this.#service.restart();
    await this.#service.add(step.leadsBefore);
    if (step.requestsLeft !== undefined) {
      await this.#service.leaveRequests(step.requestsLeft);
      this.#told.othersAsked();
    }
    if (step.isConsumerKilled) this.#run.kill();
    return step;
  }

  async read({ leadsMeanwhile }: NetworkStep, answer: Answer): Promise<void> {
    if (answer.status === 429 && this.#told.shouldHaveKnown) this.#broken.push('earned a 429 by itself');
    this.#leadsRead.set(answer, this.#service.leadIds.length);
    await this.#service.add(leadsMeanwhile);
  }

  delivered(answer: Answer): void {
    this.#leadsAtPage = this.#leadsRead.get(answer) ?? this.#leadsAtPage;
    this.#told.answered(answer);
    this.#rules.answered(answer, (lead) => !this.#memory.has(lead), this.#place());
  }

  lost(): void {
    this.#rules.failed();
  }

  silent(): void {
    this.#service.clock.advance(TIMEOUT_MS);
    this.#rules.failed();
    this.#timeLimit.abort();
  }

  failed(error: unknown): void {
    this.#broken.push(String(error instanceof Error ? error.stack : error));
    this.#end();
    this.#run.kill();
  }
}
