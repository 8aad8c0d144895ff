/**
 * Addresses of receivers. Not by `dns.lookup`: it occupies the threads that connections to the database, to Redis and to the identity
 * provider need too, and names whose server never answers would stop them all.
 */
import { getServers, type LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { existsSync, readFileSync } from 'node:fs';
import { isIP, type LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { FairQueue } from '../lib/fair.ts';
import { FIRST_BACKOFF_MS } from './rules.ts';

/** For all name servers together. */
const TIMEOUT_MS = 2000;
/** Each has a socket for each name server. 50 companies with dead names leave lookups for the others. */
const MAX_AT_ONCE = 100;
const ANSWER_MS = 30_000;
/** An address that was good is used for so long while the name is looked up again, also if that fails. */
const STALE_MS = 300_000;
/** So that the next attempt asks again. */
const FAILURE_MS = 0.8 * FIRST_BACKOFF_MS;
const MAX_CACHED = 10_000;
/** Of each family. A connection may try all of them. */
const MAX_ADDRESSES = 4;

type Addresses = readonly LookupAddress[];

const LOOPBACK: Addresses = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

interface Answer {
  /** None: the name could not be resolved. */
  readonly addresses: Addresses;
  readonly askAgainAt: number;
}

/** One lookup for each name at a time, and one for each company: names that do not resolve delay only others of their company. */
export class HostResolver {
  readonly #servers: readonly string[] | undefined;
  readonly #hostsFile: ReadonlyMap<string, Addresses>;
  readonly #now: () => number;
  readonly #answers: LRUCache<string, Answer>;
  readonly #queue = new FairQueue({ maxRunning: MAX_AT_ONCE, maxRunningOfUser: 1 });
  /** By name: those that run. */
  readonly #lookups = new Map<string, Promise<Addresses>>();
  readonly #resolvers = new Set<Resolver>();
  #isClosed = false;

  /** Default: the name servers of the system. */
  constructor(servers?: readonly string[], hostsFile = '/etc/hosts', now = () => performance.now()) {
    this.#servers = servers;
    this.#hostsFile = readHostsFile(hostsFile);
    this.#now = now;
    this.#answers = new LRUCache({ max: MAX_CACHED, ttl: STALE_MS, ttlResolution: 0, perf: { now } });
  }

  lookupFor(companyId: string): LookupFunction {
    return (name, { all }, callback) => {
      this.#resolve(name, companyId).then(
        (addresses) => {
          const [first] = addresses;
          if (all) callback(null, [...addresses]);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error) => callback(error, []),
      );
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const resolver of this.#resolvers) resolver.cancel();
  }

  async #resolve(name: string, companyId: string): Promise<Addresses> {
    const local = name === 'localhost' ? LOOPBACK : this.#hostsFile.get(name);
    if (local) return local;
    const known = this.#answers.get(name)?.addresses ?? [];
    const lookedUp = this.#findFresh(name) ?? this.#queue.run(companyId, companyId, () => this.#lookUp(name));
    const addresses = known.length > 0 ? known : await lookedUp;
    if (addresses.length === 0) throw new Error('the name of the host could not be resolved');
    return addresses;
  }

  #findFresh(name: string): Addresses | undefined {
    const known = this.#answers.get(name);
    return known && this.#now() < known.askAgainAt ? known.addresses : undefined;
  }

  /** It may have been looked up while this waited for its turn, or another company is just looking it up. */
  #lookUp(name: string): Promise<Addresses> {
    const known = this.#isClosed ? [] : this.#findFresh(name);
    if (known) return Promise.resolve(known);
    const lookup = this.#lookups.get(name) ?? this.#query(name).finally(() => this.#lookups.delete(name));
    this.#lookups.set(name, lookup);
    return lookup;
  }

  async #query(name: string): Promise<Addresses> {
    const { length: servers } = this.#servers ?? getServers();
    // Node notices up to twice as late that a server has not answered, and the last one has to be asked in time.
    const timeout = servers > 1 ? Math.floor(TIMEOUT_MS / 2 / servers) : TIMEOUT_MS;
    const resolver = new Resolver({ timeout, tries: 1 });
    if (this.#servers) resolver.setServers(this.#servers);
    this.#resolvers.add(resolver);
    const found = await queryAddresses(resolver, name);
    this.#resolvers.delete(resolver);
    const isFound = found.length > 0;
    const addresses = isFound ? found : (this.#answers.get(name)?.addresses ?? found);
    const askAgainAt = this.#now() + (isFound ? ANSWER_MS : FAILURE_MS);
    this.#answers.set(name, { addresses, askAgainAt }, { noUpdateTTL: !isFound });
    return addresses;
  }
}

/** None: the name could not be resolved. */
async function queryAddresses(resolver: Resolver, name: string): Promise<Addresses> {
  const timer = setTimeout(() => resolver.cancel(), TIMEOUT_MS);
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  clearTimeout(timer);
  return [toAddresses(four, 4), toAddresses(six, 6)].flat();
}

const toAddresses = (answer: PromiseSettledResult<string[]>, family: 4 | 6): Addresses =>
  answer.status === 'fulfilled'
    ? answer.value.slice(0, MAX_ADDRESSES).map((address) => ({ address, family }))
    : [];

/** The names that an operator has added to the system, such as with `extra_hosts` of Docker. */
function readHostsFile(file: string): ReadonlyMap<string, Addresses> {
  const names = new Map<string, Addresses>();
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  for (const line of text.split('\n')) {
    const [address = '', ...own] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    if (family !== 0)
      for (const name of own) names.set(name, [...(names.get(name) ?? []), { address, family }]);
  }
  return names;
}
