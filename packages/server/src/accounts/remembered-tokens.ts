import { hash } from 'node:crypto';
import type { Verification } from './verification.ts';

/** A token that was found good, and what of it changes with time: in seconds, as its claims say it. */
export interface GoodToken {
  readonly verification: Verification;
  readonly expiresAt: number;
  readonly notBefore: number;
  /** How far the clock of whoever made it may differ from ours. */
  readonly toleranceS: number;
  /** The set of keys that it was verified with; undefined for our own, which never change. */
  readonly keySet: object | undefined;
}

interface Place {
  readonly name: string;
  token: GoodToken;
  usedAt: number;
}

/** Whoever was here within this time keeps the place. Most automations poll every minute or two. */
const IN_USE_MS = 5 * 60_000;

/**
 * Good tokens, so that each need be verified only once. Bounded, and known by their hash, so that no token lies in memory.
 * Those that were refused have no place here: guessing pushes nobody out.
 *
 * When all places are taken, a newcomer gets one that was not used for a while, or else none. The usual rule, the place
 * of whoever was away longest, would fail those who poll in turn: with a few callers more than places, each would lose
 * its place just before it comes again.
 */
export class RememberedTokens {
  readonly #most: number;
  readonly #byName = new Map<string, Place>();
  readonly #places: Place[] = [];
  #next = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#byName.size;
  }

  /**
   * What verifying the token would say now, if that is known.
   *
   * @param keySet the keys that are good now; a token that was verified with others is not known
   */
  find(name: string, nowMs: number, keySet: object | undefined): Verification | undefined {
    const place = this.#byName.get(name);
    if (place === undefined) return undefined;
    const { token } = place;
    if (token.keySet !== undefined && token.keySet !== keySet) return undefined;
    const nowS = Math.floor(nowMs / 1000);
    if (token.notBefore > nowS + token.toleranceS) return { kind: 'invalid' };
    if (token.expiresAt <= nowS - token.toleranceS) return { kind: 'expired' };
    place.usedAt = nowMs;
    return token.verification;
  }

  add(name: string, token: GoodToken, nowMs: number): void {
    const known = this.#byName.get(name);
    if (known) known.token = token;
    else if (this.#places.length < this.#most)
      this.#place(this.#places.length, { name, token, usedAt: nowMs });
    else this.#replace({ name, token, usedAt: nowMs });
  }

  #place(number: number, place: Place): void {
    this.#places[number] = place;
    this.#byName.set(place.name, place);
  }

  /** Looks at one place only, so that a newcomer costs the same however many there are; the next looks at the next. */
  #replace(newcomer: Place): void {
    const number = this.#next;
    const old = this.#places[number];
    this.#next = (number + 1) % this.#most;
    if (old === undefined || Math.abs(newcomer.usedAt - old.usedAt) < IN_USE_MS) return;
    this.#byName.delete(old.name);
    this.#place(number, newcomer);
  }
}

/** By what a token is known here. */
export const nameOf = (token: string): string => hash('sha256', token, 'binary');
