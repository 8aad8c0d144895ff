import type { HandedOn } from './poller.ts';

/** What the process of a poller meets when it is killed. */
class Killed extends Error {}

/** What a poller starts for each lead, and what happens to the process of the poller on the way there. */
export class Automation {
  /** The ids of the leads that it was started for. */
  readonly received: string[] = [];
  /** The process is to die when it has done one of handing on and storing, and goes about the other. */
  diesInBetween = false;
  #isDead = false;
  #lastDone: 'nothing' | 'handed on' | 'stored' = 'nothing';

  /** A new process, or the next poll of the same one. */
  begin(): void {
    this.#isDead = false;
    this.#lastDone = 'nothing';
  }

  readonly handOn = ({ id }: HandedOn): void => {
    if (this.#goesAbout('handed on')) this.received.push(id);
  };

  readonly store = (write: () => void): void => {
    if (this.#goesAbout('stored')) write();
  };

  #goesAbout(next: 'handed on' | 'stored'): boolean {
    if (this.#isDead) return false;
    if (this.diesInBetween && this.#lastDone !== 'nothing' && this.#lastDone !== next) {
      this.#isDead = true;
      throw new Killed();
    }
    this.#lastDone = next;
    return true;
  }
}
