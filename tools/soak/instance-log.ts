import { isDeclaredCause } from '../../packages/testing/delivery-trial/declared.ts';
import type { LogLine } from './installation.ts';

/** The status page is shown without the parts that the database does not return in time. */
const isExpected = ({ err }: LogLine): boolean =>
  err?.type === 'NoReplyError' ||
  (err?.type === 'StoreUnavailableError' && isDeclaredCause(err.message ?? ''));

/** Checks every line that the instances log. */
export class InstanceLog {
  /** A sentence for each error that no fault explains. */
  readonly undeclared: string[] = [];
  readonly #statuses = new Map<number, number>();
  #errors = 0;

  read(instance: number, line: LogLine): void {
    const { level, msg, method, err } = line;
    // Without a method it is the status that a receiver of webhooks has responded with.
    const status = method === undefined ? undefined : line.status;
    if (status !== undefined) this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const isServerError = status !== undefined && status >= 500 && status !== 503;
    if (level !== 'error' && !isServerError) return;
    const text = err?.message === undefined ? `${msg} ${status ?? ''}`.trim() : `${msg}: ${err.message}`;
    this.#errors += 1;
    if (isServerError || !isExpected(line)) this.undeclared.push(`instance ${instance + 1}: ${text}`);
  }

  figures(): Record<string, number> {
    const statuses = [...this.#statuses].sort(([a], [b]) => a - b);
    return {
      requests: statuses.reduce((sum, [, count]) => sum + count, 0),
      ...Object.fromEntries(statuses.map(([status, count]) => [`requests answered ${status}`, count])),
      'log lines at level error': this.#errors,
    };
  }
}
