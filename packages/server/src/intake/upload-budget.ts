/** Bounds the memory that bodies of requests take, from the first byte to the response. */
import { MAX_INTAKE_BYTES } from '@leadtap/contract';
import { ProblemError, unavailable } from '../http/problems.ts';

/** Of all bodies that are arriving or being stored. */
const MAX_BYTES = 64 * 1024 * 1024;
/** More at once are not faster; they only occupy memory. */
const MAX_UPLOADS_PER_USER = 8;
const RETRY_AFTER_S = 1;

export interface Upload {
  /** The body has arrived. */
  complete(): void;
  /** The body is not needed any more. Call it once. */
  release(): void;
}

export class UploadBudget {
  readonly #uploads = new Map<string, number>();
  #bytes = 0;

  /**
   * `declaredBytes` is undefined for a chunked body. One that has arrived is no unfinished upload of its user. Throws 429 or 503
   * if the body may not be read now.
   */
  open(userId: string, declaredBytes = MAX_INTAKE_BYTES, hasArrived = false): Upload {
    const uploads = this.#uploads.get(userId) ?? 0;
    if (!hasArrived && uploads >= MAX_UPLOADS_PER_USER)
      throw new ProblemError('rate-limit-exceeded', {
        detail: `Your user has ${MAX_UPLOADS_PER_USER} unfinished requests. Finish them first, then send this one again.`,
        violatedPolicies: ['uploads'],
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      });
    if (this.#bytes + declaredBytes > MAX_BYTES) throw unavailable(undefined, TOO_MANY_BODIES);
    if (!hasArrived) this.#uploads.set(userId, uploads + 1);
    this.#bytes += declaredBytes;
    let isComplete = hasArrived;
    const complete = () => {
      if (isComplete) return;
      isComplete = true;
      const left = (this.#uploads.get(userId) ?? 1) - 1;
      if (left > 0) this.#uploads.set(userId, left);
      else this.#uploads.delete(userId);
    };
    const release = () => {
      complete();
      this.#bytes -= declaredBytes;
    };
    return { complete, release };
  }
}

const TOO_MANY_BODIES =
  'The service is receiving too many leads at once. Nothing was stored. Send the same request again after the seconds given in `Retry-After`.';
