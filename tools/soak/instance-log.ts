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
  readonly #errors = new Map<string, number>();

  read(instance: number, line: LogLine): void {
    const { level, msg, method, err } = line;
    // Without a method it is the status that a receiver of webhooks has responded with.
    const status = method === undefined ? undefined : line.status;
    if (status !== undefined) this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const isServerError = status !== undefined && status >= 500 && status !== 503;
    if (level !== 'error' && !isServerError) return;
    const text = err?.message === undefined ? `${msg} ${status ?? ''}`.trim() : `${msg}: ${err.message}`;
    this.#errors.set(text, (this.#errors.get(text) ?? 0) + 1);
    if (isServerError || !isExpected(line)) this.undeclared.push(`instance ${instance + 1}: ${text}`);
  }

  get requests(): number {
    return [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
  }

  figures(): Record<string, number> {
    const statuses = [...this.#statuses].sort(([a], [b]) => a - b);
    return {
      requests: this.requests,
      ...Object.fromEntries(statuses.map(([status, count]) => [`requests answered ${status}`, count])),
      'log lines at level error': [...this.#errors.values()].reduce((sum, count) => sum + count, 0),
    };
  }

  toText(): string {
    const errors = [...this.#errors].sort(([, a], [, b]) => b - a);
    return [
      'requests by status',
      ...[...this.#statuses].sort(([a], [b]) => a - b).map(([status, count]) => `  ${status}  ${count}`),
      'log lines at level error',
      ...errors.map(([text, count]) => `  ${count} × ${text}`),
      `undeclared errors: ${this.undeclared.length}`,
    ].join('\n');
  }
}
