/** The parts of `/status.json` that the page shows. */
import type { Hour } from '../diagnosis/hours.tsx';
import type { Diagnosis } from '../diagnosis/rows.tsx';

export interface Listed extends Diagnosis {
  readonly last24h: readonly Hour[];
  readonly tokenId: string | null;
  readonly userId: string;
  readonly companyId: string;
  readonly hook?: { readonly host: string | null } | null;
}

interface Problem {
  readonly kind: string;
  readonly severity: 'error' | 'warning' | 'unknown';
  readonly message: string;
  readonly fix: string;
  readonly docs: string;
}

interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly fix: string;
}

interface RequestError {
  readonly at: string;
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly path: string;
}

interface SystemFact {
  readonly name: string;
  readonly text: string;
  readonly isBad?: boolean;
}

export interface Report {
  readonly version: string;
  readonly generatedAt: string;
  readonly good: string | null;
  readonly note: string | null;
  readonly problems: readonly Problem[];
  readonly consumers: { readonly hint: string | null; readonly listed: readonly Listed[] } | null;
  readonly senders: { readonly listed: readonly Listed[] } | null;
  readonly refusals: readonly Refusal[];
  readonly errors: readonly RequestError[];
  readonly system: readonly SystemFact[];
}
